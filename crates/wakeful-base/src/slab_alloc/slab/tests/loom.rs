use super::*;
use crate::sync::{Arc, thread};
use ::loom::model;

/// Two free slots are enough.
const SHAPE: Shape = Shape { stride: 16, slots: 8 };

/// The identity of a thread of a model.
const fn thread_no(number: usize) -> Owner {
    ptr::without_provenance_mut(number)
}

/// A slab, and the memory of its slots.
struct Model {
    slab: Slab,
    memory: [UnsafeCell<u32>; 8],
}

// SAFETY: a slot's memory is accessed only by the thread that holds the slot; the slab is shared by
// design.
unsafe impl Send for Model {}
// SAFETY: as above.
unsafe impl Sync for Model {}

impl Model {
    /// Creates a slab of thread 1 with all slots handed out.
    fn new() -> Arc<Model> {
        let memory = [0; 8].map(UnsafeCell::new);
        let model = Arc::new(Model { slab: Slab::new(SHAPE, thread_no(1)), memory });
        assert_eq!(model.take_all(1), 8);
        model
    }

    /// Creates a slab of thread 1 with two slots handed out.
    fn with_two_in_use() -> Arc<Model> {
        let model = Model::new();
        // SAFETY: thread 1, the caller, owns the slab.
        unsafe { (2..8).for_each(|slot| model.slab.put(slot)) };
        model
    }

    fn slab(&self) -> NonNull<Slab> {
        NonNull::from(&self.slab)
    }

    fn use_slot(&self, slot: u32) {
        // SAFETY: the caller holds this slot.
        self.memory[slot as usize].with_mut(|value| unsafe { *value += 1 });
    }

    /// Returns a slot that the caller holds. If the slab becomes the caller's, takes and counts its
    /// free slots.
    fn return_slot(&self, slot: u32, me: usize) -> Option<usize> {
        self.use_slot(slot);
        // SAFETY: the caller holds the slot and returns it once.
        let returned = unsafe { Slab::return_slot(self.slab(), slot, SHAPE, thread_no(me)) };
        (returned == Returned::Ours).then(|| self.take_all(me))
    }

    /// Takes and uses all free slots of a slab that the caller owns.
    fn take_all(&self, me: usize) -> usize {
        assert!(self.slab.is_owned_by(thread_no(me)));
        // SAFETY: the caller owns the slab, as just checked.
        let slots = std::iter::from_fn(|| unsafe { self.slab.take() });
        slots.inspect(|slot| self.use_slot(*slot)).count()
    }
}

/// Runs `f` on a thread for each element of `each`, and returns the results.
fn on_others<T: Copy + Send + 'static, R: Send + 'static>(
    model: &Arc<Model>,
    each: [T; 2],
    f: fn(&Model, T) -> R,
) -> impl Iterator<Item = R> {
    let others = each.map(|what| {
        let model = model.clone();
        thread::spawn(move || f(&model, what))
    });
    others.into_iter().map(|other| other.join().unwrap())
}

#[test]
fn a_released_slab_gets_one_owner_once_enough_slots_are_returned() {
    model(|| {
        let model = Model::new();
        let others =
            on_others(&model, [(0, 2), (1, 3)], |model, (slot, me)| model.return_slot(slot, me));
        // SAFETY: thread 1, the caller, owns the slab until it is released.
        let is_gone = unsafe { Slab::release(model.slab(), SHAPE, thread_no(1)) };
        let kept = (!is_gone).then(|| model.take_all(1));
        assert_eq!(others.chain([kept]).flatten().collect::<Vec<_>>(), [2]);
    });
}

#[test]
fn free_slots_of_a_released_slab_count_as_returned() {
    model(|| {
        let model = Model::new();
        // SAFETY: thread 1, the caller, owns the slab until it is released.
        unsafe { model.slab.put(7) };
        let others =
            on_others(&model, [(0, 2), (1, 3)], |model, (slot, me)| model.return_slot(slot, me));
        // SAFETY: as above.
        let is_gone = unsafe { Slab::release(model.slab(), SHAPE, thread_no(1)) };
        let kept = (!is_gone).then(|| model.take_all(1));
        let got: Vec<_> = others.chain([kept]).flatten().collect();
        // The third slot may be returned too late for the thread that gets the slab.
        assert!(got == [2] || got == [3], "{got:?}");
    });
}

#[test]
fn slots_returned_late_are_not_lost() {
    model(|| {
        let model = Model::new();
        // SAFETY: thread 1, the caller, owns the slab until it is released.
        assert!(unsafe { Slab::release(model.slab(), SHAPE, thread_no(1)) });
        let others = on_others(&model, [([0, 1], 2), ([2, 3], 3)], |model, (slots, me)| {
            let [first, second] = slots.map(|slot| model.return_slot(slot, me));
            let free = first.or(second)?;
            // SAFETY: this thread has become the owner, and passes the slab on by finishing.
            unsafe { model.slab.disown() };
            Some(free)
        });
        let got: Vec<_> = others.flatten().collect();
        assert_eq!(got.len(), 1);
        // SAFETY: the thread that owned the slab has disowned it and finished.
        unsafe { model.slab.take_ownership(thread_no(1)) };
        assert_eq!(got[0] + model.take_all(1), 4);
    });
}

#[test]
fn a_slab_is_all_free_once_every_slot_was_returned() {
    model(|| {
        let model = Model::with_two_in_use();
        let others = on_others(&model, [0, 1], |model, slot| {
            assert_eq!(model.return_slot(slot, 2 + slot as usize), None, "it is owned");
        });
        // SAFETY: thread 1, the caller, owns the slab.
        if unsafe { model.slab.is_all_free(SHAPE) } {
            (0..8).for_each(|slot| model.use_slot(slot));
        }
        others.for_each(drop);
        // SAFETY: thread 1, the caller, owns the slab.
        assert!(unsafe { model.slab.is_all_free(SHAPE) });
    });
}

#[test]
fn some_thread_learns_that_a_slab_in_a_depot_is_all_free() {
    model(|| {
        let model = Model::with_two_in_use();
        let others = on_others(&model, [0, 1], |model, slot| {
            model.use_slot(slot);
            // SAFETY: the slot is returned once.
            let returned = unsafe {
                Slab::return_slot(model.slab(), slot, SHAPE, thread_no(2 + slot as usize))
            };
            returned == Returned::AllFree
        });
        // SAFETY: thread 1, the caller, owns the slab, and then acts as the holder of the depot's
        // lock.
        let seen_here = unsafe {
            model.slab.disown();
            model.slab.is_all_free(SHAPE)
        };
        let seen = others.chain([seen_here]).filter(|is_seen| *is_seen).count();
        assert!((1..=2).contains(&seen), "{seen}");
    });
}
