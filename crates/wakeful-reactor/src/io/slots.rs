//! The table of a driver's slots: found by index without a lock, reused, never moved.

use super::slot::IoSlot;
use std::ptr;
use wakeful_base::sync::Mutex;
use wakeful_base::sync::atomic::{AtomicPtr, Ordering::*};

/// The number of slots in the first chunk. Each further chunk doubles the total.
const FIRST_CHUNK: usize = 64;

/// The number of chunks that 32-bit indices need.
const CHUNKS: usize = 27;

#[derive(Debug)]
pub(super) struct IoSlots {
    /// Chunk `n` has `FIRST_CHUNK << n` slots, or is null if not allocated yet.
    chunks: [AtomicPtr<IoSlot>; CHUNKS],
    free: Mutex<FreeIoSlots>,
}

#[derive(Debug, Default)]
struct FreeIoSlots {
    /// Released slots. The last one released, which is probably still in the cache, is reused
    /// first.
    used: Vec<u32>,
    /// The first index that has never been used.
    fresh: u32,
}

/// Returns the chunk of an index, its position in the chunk, and the size of the chunk.
fn locate(index: u32) -> (usize, usize, usize) {
    let shifted = index as usize + FIRST_CHUNK;
    let chunk = (shifted.ilog2() - FIRST_CHUNK.ilog2()) as usize;
    let size = FIRST_CHUNK << chunk;
    (chunk, shifted - size, size)
}

impl IoSlots {
    pub(super) fn new() -> IoSlots {
        IoSlots {
            chunks: std::array::from_fn(|_| AtomicPtr::new(ptr::null_mut())),
            free: Mutex::new(FreeIoSlots::default()),
        }
    }

    /// Takes an unused slot and its index. Returns `None` if all indices are in use.
    pub(super) fn take(&self) -> Option<(u32, &IoSlot)> {
        let mut free = self.free.lock();
        let index = match free.used.pop() {
            Some(index) => index,
            None => {
                let index = free.fresh;
                // The last index is never used: `SIGNAL_TOKEN` and `WAKE_TOKEN` have it.
                free.fresh = index.checked_add(1)?;
                self.allocate_chunk_of(index);
                index
            }
        };
        drop(free);
        Some((index, self.get(index).expect("made or used before")))
    }

    /// Releases a slot, which must have been retired.
    pub(super) fn give_back(&self, index: u32) {
        self.free.lock().used.push(index);
    }

    /// Returns the slot of an index, if the slot is allocated.
    pub(super) fn get(&self, index: u32) -> Option<&IoSlot> {
        let (chunk, at, _) = locate(index);
        let slots = self.chunks[chunk].load(Acquire);
        // SAFETY: an allocated chunk has a slot at each position that `locate` returns, and is
        // freed only with `self`.
        (!slots.is_null()).then(|| unsafe { &*slots.add(at) })
    }

    /// Calls `f` with every slot that has ever been used.
    pub(super) fn for_each(&self, mut f: impl FnMut(&IoSlot)) {
        let fresh = self.free.lock().fresh;
        for index in 0..fresh {
            if let Some(slot) = self.get(index) {
                f(slot);
            }
        }
    }

    /// Allocates the chunk of `index`, if it is not allocated yet. The caller holds the lock.
    fn allocate_chunk_of(&self, index: u32) {
        let (chunk, _, size) = locate(index);
        if self.chunks[chunk].load(Relaxed).is_null() {
            let slots: Box<[IoSlot]> = (0..size).map(|_| IoSlot::new()).collect();
            self.chunks[chunk].store(Box::into_raw(slots).cast(), Release);
        }
    }
}

impl Drop for IoSlots {
    fn drop(&mut self) {
        for (chunk, slots) in self.chunks.iter().enumerate() {
            let slots = slots.load(Relaxed);
            if !slots.is_null() {
                let slice = ptr::slice_from_raw_parts_mut(slots, FIRST_CHUNK << chunk);
                // SAFETY: `allocate_chunk_of` created the pointer from a boxed slice of this
                // length. `&mut self` means that no slot is borrowed any more.
                drop(unsafe { Box::from_raw(slice) });
            }
        }
    }
}

#[cfg(all(test, not(wakeful_loom)))]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn indices_lead_to_different_slots_that_stay() {
        let slots = IoSlots::new();
        let taken: Vec<_> = (0..1000).map(|_| slots.take().unwrap()).collect();
        let places: HashSet<*const IoSlot> =
            taken.iter().map(|(_, slot)| ptr::from_ref(*slot)).collect();
        assert_eq!(places.len(), 1000);
        for (index, slot) in &taken {
            assert!(ptr::eq(slots.get(*index).unwrap(), *slot));
        }
        assert!(slots.get(u32::MAX - 1).is_none());
    }

    #[test]
    fn a_slot_given_back_is_used_again() {
        let slots = IoSlots::new();
        let (first, _) = slots.take().unwrap();
        let (second, _) = slots.take().unwrap();
        slots.give_back(first);
        assert_eq!(slots.take().unwrap().0, first);
        assert_ne!(slots.take().unwrap().0, second);
    }

    #[test]
    fn chunks_follow_each_other_without_a_gap() {
        let mut expected = (0, 0);
        for index in 0..100_000 {
            let (chunk, at, size) = locate(index);
            assert_eq!((chunk, at), expected);
            expected = if at + 1 == size { (chunk + 1, 0) } else { (chunk, at + 1) };
        }
        assert_eq!(locate(u32::MAX).0, CHUNKS - 1);
    }
}
