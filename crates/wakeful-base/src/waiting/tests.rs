use super::*;
use std::ptr::{self, NonNull};

#[test]
fn a_note_keeps_kind_and_detail_and_the_next_poll_clears_it() {
    let slot = WaitSlot::new(7);
    assert_eq!(slot.waits(), None, "a new task is in a queue");
    for kind in WAIT_KINDS {
        for detail in [0, 1, 0xffff_ffff >> 8] {
            // SAFETY: the slot outlives the guard and is in no queue.
            let current = unsafe { enter(&raw const slot) };
            assert_eq!(slot.waits().unwrap().kind, WaitKind::Unknown);
            assert_eq!(current_id(), 7);
            note(kind, detail, Waker::noop());
            drop(current);
            let waits = slot.waits().unwrap();
            assert_eq!((waits.kind, waits.detail, waits.is_seen), (kind, detail, false));
            assert_eq!(slot.look(), Some(waits));
            let waits = slot.look().unwrap();
            assert_eq!((waits.kind, waits.detail, waits.is_seen), (kind, detail, true));
        }
    }
    assert_eq!(current_id(), 0);
}

#[test]
fn kinds_are_listed_in_the_order_of_their_numbers() {
    for (number, kind) in WAIT_KINDS.into_iter().enumerate() {
        assert_eq!(kind as usize, number);
    }
    assert!(WAIT_KINDS.len() <= KIND_MASK + 1);
}

#[test]
fn a_queue_link_is_no_note_and_is_not_marked() {
    let slot = WaitSlot::new(7);
    let link: *mut () = NonNull::<u64>::dangling().as_ptr().cast();
    slot.word().store(link, Relaxed);
    assert_eq!(slot.waits(), None);
    assert_eq!(slot.look(), None);
    assert_eq!(slot.word().load(Relaxed), link);
}

#[test]
fn code_without_notes_has_an_id_to_show_but_writes_nothing() {
    let slot = WaitSlot::new(7);
    let link: *mut () = ptr::without_provenance_mut(64);
    slot.word().store(link, Relaxed);
    // SAFETY: the slot outlives the guard.
    let current = unsafe { enter_without_notes(&raw const slot) };
    note(WaitKind::Time, 3, Waker::noop());
    assert_eq!(with_current(|slot| slot.map(WaitSlot::id)), Some(7));
    drop(current);
    assert_eq!(slot.word().load(Relaxed), link);
    assert_eq!(with_current(|slot| slot.map(WaitSlot::id)), None);
}

#[test]
fn leaves_of_a_collected_poll_are_reported_and_others_are_not() {
    let (outer, inner) = (WaitSlot::new(1), WaitSlot::new(2));
    let other = std::task::Waker::from(std::sync::Arc::new(Other));
    let waker = other.clone();
    let _asking = Asking::begin();
    // SAFETY: the slots outlive the guards and are in no queue.
    let _outer = unsafe { enter(&raw const outer) };
    note(WaitKind::Mutex, 1, &waker);
    let details = LeafDetails { available: Some(3), ..LeafDetails::default() };
    let ((), collected) = collect(&raw const outer, &waker, || {
        note_with(WaitKind::Semaphore, 5, &waker, || details);
        note(WaitKind::Notify, 6, Waker::noop());
        // SAFETY: as above.
        let _inner = unsafe { enter(&raw const inner) };
        note(WaitKind::Watch, 7, &waker);
    });
    let seen: Vec<_> = collected.leaves.iter().map(|leaf| (leaf.kind, leaf.detail)).collect();
    assert_eq!(seen, [(WaitKind::Semaphore, 5), (WaitKind::Notify, 6)]);
    assert!(collected.leaves[0].has_own_waker && !collected.leaves[1].has_own_waker);
    assert_eq!(collected.leaves[0].details, details);
    let taken = Stack::take_captured();
    assert!(taken.iter().any(|(stack, _)| *stack == collected.leaves[0].stack));
    note(WaitKind::Mutex, 1, &waker);
    let ((), many) = collect(&raw const outer, &waker, || {
        (0..LEAVES_MAX as u64 + 1).for_each(|n| note(WaitKind::Time, n, &waker));
    });
    assert!(many.is_truncated && many.leaves.len() == LEAVES_MAX);
}

struct Other;

impl std::task::Wake for Other {
    fn wake(self: std::sync::Arc<Self>) {}
}
