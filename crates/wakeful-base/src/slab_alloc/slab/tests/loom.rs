use super::*;
use crate::sync::{Arc, thread};
use ::loom::model;

/// Two free slots are enough.
const SHAPE: Shape = Shape { stride: 16, slots: 8 };

/// Threads of a model, as slabs know them.
const fn thread_no(number: usize) -> Owner {
    ptr::without_provenance_mut(number)
}

/// A slab, and what is in its slots.
struct Model {
    slab: Slab,
    memory: [UnsafeCell<u32>; 8],
}

// SAFETY: who has a slot has what is in it; the slab is made for sharing.
unsafe impl Send for Model {}
// SAFETY: as above.
unsafe impl Sync for Model {}

impl Model {
    /// A slab of thread 1's with all slots handed out.
    fn new() -> Arc<Model> {
        let memory = [0; 8].map(UnsafeCell::new);
        let model = Arc::new(Model { slab: Slab::new(SHAPE, thread_no(1)), memory });
        assert_eq!(model.take_all(1), 8);
        model
    }

    /// The same with all slots but the first two free again.
    fn with_two_in_use() -> Arc<Model> {
        let model = Model::new();
        // SAFETY: ours.
        unsafe { (2..8).for_each(|slot| model.slab.put(slot)) };
        model
    }

    fn slab(&self) -> NonNull<Slab> {
        NonNull::from(&self.slab)
    }

    fn use_slot(&self, slot: u32) {
        // SAFETY: the caller has this slot.
        self.memory[slot as usize].with_mut(|value| unsafe { *value += 1 });
    }

    /// Gives back what the caller has. If the slab becomes the caller's, counts what is free in it.
    fn return_slot(&self, slot: u32, me: usize) -> Option<usize> {
        self.use_slot(slot);
        // SAFETY: each slot is given back once.
        let returned = unsafe { Slab::return_slot(self.slab(), slot, SHAPE, thread_no(me)) };
        (returned == Returned::Ours).then(|| self.take_all(me))
    }

    /// Takes and uses all free slots of a slab that is the caller's.
    fn take_all(&self, me: usize) -> usize {
        assert!(self.slab.is_owned_by(thread_no(me)));
        // SAFETY: ours.
        let slots = std::iter::from_fn(|| unsafe { self.slab.take() });
        slots.inspect(|slot| self.use_slot(*slot)).count()
    }
}

/// Runs `f` on threads of their own, for each of these, and returns what they do.
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
        // SAFETY: ours, until it is let go of.
        let is_gone = unsafe { Slab::release(model.slab(), SHAPE, thread_no(1)) };
        let kept = (!is_gone).then(|| model.take_all(1));
        assert_eq!(others.chain([kept]).flatten().collect::<Vec<_>>(), [2]);
    });
}

#[test]
fn free_slots_of_a_released_slab_count_as_returned() {
    model(|| {
        let model = Model::new();
        // SAFETY: ours, until it is let go of.
        unsafe { model.slab.put(7) };
        let others =
            on_others(&model, [(0, 2), (1, 3)], |model, (slot, me)| model.return_slot(slot, me));
        // SAFETY: as above.
        let is_gone = unsafe { Slab::release(model.slab(), SHAPE, thread_no(1)) };
        let kept = (!is_gone).then(|| model.take_all(1));
        let got: Vec<_> = others.chain([kept]).flatten().collect();
        // The third may come back too late for the one who gets the slab.
        assert!(got == [2] || got == [3], "{got:?}");
    });
}

#[test]
fn slots_returned_late_are_not_lost() {
    model(|| {
        let model = Model::new();
        // SAFETY: ours, until it is let go of.
        assert!(unsafe { Slab::release(model.slab(), SHAPE, thread_no(1)) });
        let others = on_others(&model, [([0, 1], 2), ([2, 3], 3)], |model, (slots, me)| {
            let [first, second] = slots.map(|slot| model.return_slot(slot, me));
            let free = first.or(second)?;
            // SAFETY: it has become ours. We pass it on by ending.
            unsafe { model.slab.disown() };
            Some(free)
        });
        let got: Vec<_> = others.flatten().collect();
        assert_eq!(got.len(), 1);
        // SAFETY: out of the hands of the one who had it.
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
        // SAFETY: ours.
        if unsafe { model.slab.is_all_free(SHAPE) } {
            (0..8).for_each(|slot| model.use_slot(slot));
        }
        others.for_each(drop);
        // SAFETY: ours.
        assert!(unsafe { model.slab.is_all_free(SHAPE) });
    });
}

#[test]
fn some_thread_learns_that_a_slab_in_a_depot_is_all_free() {
    model(|| {
        let model = Model::with_two_in_use();
        let others = on_others(&model, [0, 1], |model, slot| {
            model.use_slot(slot);
            // SAFETY: given back once.
            let returned = unsafe {
                Slab::return_slot(model.slab(), slot, SHAPE, thread_no(2 + slot as usize))
            };
            returned == Returned::AllFree
        });
        // SAFETY: ours, and then with us in the depot.
        let seen_here = unsafe {
            model.slab.disown();
            model.slab.is_all_free(SHAPE)
        };
        let seen = others.chain([seen_here]).filter(|is_seen| *is_seen).count();
        assert!((1..=2).contains(&seen), "{seen}");
    });
}
