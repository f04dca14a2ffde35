//! Where a task was spawned, and what is kept of its times if its runtime asks for that.
//!
//! Both are behind one word of the header: a `Location`, or a [`TaskTimes`] of the task's own,
//! which has the location. The lowest bit says which.
//!
//! ```text
//!   new_task ──▶ Location ──keep_times, before the task is shared──▶ TaskTimes ──free──▶ freed
//! ```

use std::panic::Location;
use std::ptr;
use std::sync::atomic::{AtomicPtr, AtomicU64, Ordering::Relaxed};

/// Set in a word that points to a [`TaskTimes`].
const HAS_TIMES: usize = 1;

const _: () = assert!(align_of::<Location<'static>>() > HAS_TIMES);
const _: () = assert!(align_of::<TaskTimes>() > HAS_TIMES);

/// What is kept of a task's times.
pub(crate) struct TaskTimes {
    location: &'static Location<'static>,
    /// When the task was scheduled last, on a clock of the scheduler's.
    scheduled_at_ns: AtomicU64,
}

/// The word of the header.
///
/// It is written before the task is shared, and by the thread that frees the task. In between it is
/// only read, so no order is needed.
pub(crate) struct SpawnSite(AtomicPtr<()>);

impl SpawnSite {
    pub(crate) fn new(location: &'static Location<'static>) -> SpawnSite {
        SpawnSite(AtomicPtr::new(ptr::from_ref(location).cast_mut().cast()))
    }

    /// Makes the task keep its times.
    ///
    /// No other thread may have a reference to the task yet.
    pub(crate) fn keep_times(&self) {
        if self.times().is_some() {
            return;
        }
        let times = TaskTimes { location: self.location(), scheduled_at_ns: AtomicU64::new(0) };
        let times: *mut () = Box::into_raw(Box::new(times)).cast();
        self.0.store(times.map_addr(|addr| addr | HAS_TIMES), Relaxed);
    }

    #[inline]
    fn times(&self) -> Option<&TaskTimes> {
        let word = self.0.load(Relaxed);
        if word.addr() & HAS_TIMES == 0 {
            return None;
        }
        // SAFETY: a word with the mark comes from `keep_times`, which made it from a box. The box
        // is freed with the task, which the caller's reference keeps.
        Some(unsafe { &*word.map_addr(|addr| addr & !HAS_TIMES).cast::<TaskTimes>() })
    }

    pub(crate) fn location(&self) -> &'static Location<'static> {
        match self.times() {
            Some(times) => times.location,
            // SAFETY: a word without the mark comes from `new`, which made it from a reference.
            None => unsafe { &*self.0.load(Relaxed).cast::<Location<'static>>() },
        }
    }

    pub(crate) fn note_scheduled(&self, now_ns: u64) {
        if let Some(times) = self.times() {
            // The queue makes this visible to the thread that polls the task.
            times.scheduled_at_ns.store(now_ns, Relaxed);
        }
    }

    pub(crate) fn scheduled_at_ns(&self) -> Option<u64> {
        self.times().map(|times| times.scheduled_at_ns.load(Relaxed))
    }

    /// Returns the location that a copy of a word leads to, or `None` if it leads to times that
    /// `read` cannot read.
    ///
    /// `read` copies bytes of this process, from an address that may be invalid by now.
    pub(crate) fn location_address(
        word: usize,
        read: impl FnOnce(usize, &mut [u8]) -> Option<()>,
    ) -> Option<usize> {
        if word & HAS_TIMES == 0 {
            return Some(word);
        }
        let mut address = [0; size_of::<usize>()];
        let field = (word & !HAS_TIMES) + std::mem::offset_of!(TaskTimes, location);
        read(field, &mut address)?;
        Some(usize::from_ne_bytes(address))
    }
}

impl Drop for SpawnSite {
    #[inline]
    fn drop(&mut self) {
        let word = *self.0.get_mut();
        if word.addr() & HAS_TIMES != 0 {
            // SAFETY: as in `times`. The task is being freed, so this is the last use of the box.
            drop(unsafe {
                Box::from_raw(word.map_addr(|addr| addr & !HAS_TIMES).cast::<TaskTimes>())
            });
        }
    }
}
