use super::*;
use crate::sync::{Arc, thread};
use ::loom::model;

/// Two free slots are enough.
const SHAPE: Shape = Shape { stride: 16, slots: 8 };

/// Threads of a model, as slabs know them.
const fn thread_no(number: usize) -> Owner {
    ptr::without_provenance_mut(number)
}

/// A slab of thread 1's with all slots handed out.
fn handed_out() -> Arc<Slab> {
    let slab = Arc::new(Slab::new(SHAPE, thread_no(1)));
    for slot in 0..8 {
        // SAFETY: ours.
        assert_eq!(unsafe { slab.take() }, Some(slot));
    }
    slab
}

/// Gives back what the caller has; if the slab becomes the caller's, counts what is free in it.
fn give_back(slab: &Arc<Slab>, slot: u32, me: usize) -> Option<usize> {
    // SAFETY: each slot is given back once.
    let returned = unsafe { Slab::give_back(NonNull::from(&**slab), slot, SHAPE, thread_no(me)) };
    (returned == Returned::Ours).then(|| take_all(slab, me))
}

fn take_all(slab: &Slab, me: usize) -> usize {
    assert!(slab.is_owned_by(thread_no(me)));
    // SAFETY: ours.
    (0..).take_while(|_| unsafe { slab.take() }.is_some()).count()
}

#[test]
fn a_slab_that_is_let_go_of_has_one_owner_once_enough_came_back() {
    model(|| {
        let slab = handed_out();
        let others: Vec<_> = [(0, 2), (1, 3)]
            .map(|(slot, me)| {
                let slab = slab.clone();
                thread::spawn(move || give_back(&slab, slot, me))
            })
            .into_iter()
            .collect();
        // SAFETY: ours, until it is let go of.
        let is_gone = unsafe { Slab::let_go(NonNull::from(&*slab), SHAPE, thread_no(1)) };
        let kept = (!is_gone).then(|| take_all(&slab, 1));
        let got = others.into_iter().map(|other| other.join().unwrap()).chain([kept]);
        assert_eq!(got.flatten().collect::<Vec<_>>(), [2]);
    });
}

#[test]
fn what_comes_back_late_is_not_lost() {
    model(|| {
        let slab = handed_out();
        // SAFETY: ours, until it is let go of.
        assert!(unsafe { Slab::let_go(NonNull::from(&*slab), SHAPE, thread_no(1)) });
        let others: Vec<_> = [([0, 1], 2), ([2, 3], 3)]
            .map(|(slots, me)| {
                let slab = slab.clone();
                thread::spawn(move || {
                    let [first, second] = slots;
                    let free = give_back(&slab, first, me).or(give_back(&slab, second, me))?;
                    // SAFETY: it has become ours. We pass it on by joining.
                    unsafe { slab.disown() };
                    Some(free)
                })
            })
            .into_iter()
            .collect();
        let got: Vec<_> = others.into_iter().filter_map(|other| other.join().unwrap()).collect();
        assert_eq!(got.len(), 1);
        // SAFETY: out of the hands of the one who had it.
        unsafe { slab.make_own(thread_no(1)) };
        assert_eq!(got[0] + take_all(&slab, 1), 4);
    });
}

#[test]
fn a_slab_is_whole_when_all_who_had_a_slot_are_done_with_it() {
    model(|| {
        let slab = handed_out();
        let memory = Arc::new([0, 1].map(|_| UnsafeCell::new(0)));
        // SAFETY: ours, with two slots still in use.
        unsafe { (2..8).for_each(|slot| slab.put(slot)) };
        let others: Vec<_> = [0, 1]
            .map(|slot| {
                let (slab, memory) = (slab.clone(), memory.clone());
                thread::spawn(move || {
                    // SAFETY: of our slot.
                    memory[slot].with_mut(|value| unsafe { *value += 1 });
                    assert_eq!(give_back(&slab, slot as u32, slot + 2), None, "it is owned");
                })
            })
            .into_iter()
            .collect();
        // SAFETY: ours.
        if unsafe { slab.is_whole(SHAPE) } {
            for value in &*memory {
                // SAFETY: nobody has it any more.
                value.with_mut(|value| assert_eq!(unsafe { *value }, 1));
            }
        }
        others.into_iter().for_each(|other| other.join().unwrap());
        // SAFETY: ours.
        assert!(unsafe { slab.is_whole(SHAPE) });
    });
}
