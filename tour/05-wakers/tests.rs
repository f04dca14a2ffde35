use std::cell::Cell;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Wake, Waker};
use std::thread;

use super::by_id::{self, Letterbox, Tasks};
use super::ledger::{self, Ledger, Mistake};
use super::over_arc::{self, Bell};
use super::{count_borrowed, count_references, lost, send_sync};
use crate::timeline::{Event, Timeline};

#[test]
fn every_waker_owns_one_reference() {
    let timeline = Timeline::new();
    count_references(&timeline);
    assert_eq!(
        timeline.story_of("bell"),
        [
            "made, references: 1",
            "a waker made of it, references: 2",
            "clone, references: 3",
            "wake_by_ref, references: 3",
            "wake, references: 2",
            "drop, references: 1",
        ]
    );
}

#[test]
fn it_counts_as_the_waker_of_std_does() {
    #[derive(Default)]
    struct StdBell(AtomicUsize);
    impl Wake for StdBell {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }
    /// The count after each call of a function of the vtable.
    fn counts<T>(arc: Arc<T>, waker: fn(Arc<T>) -> Waker) -> Vec<usize> {
        let mut counts = vec![Arc::strong_count(&arc)];
        let waker = waker(arc.clone());
        counts.push(Arc::strong_count(&arc));
        let clone = waker.clone();
        counts.push(Arc::strong_count(&arc));
        clone.wake_by_ref();
        counts.push(Arc::strong_count(&arc));
        clone.wake();
        counts.push(Arc::strong_count(&arc));
        drop(waker);
        counts.push(Arc::strong_count(&arc));
        counts
    }
    let bell = Arc::new(Bell::new("task", &Timeline::new()));
    assert_eq!(counts(bell, over_arc::waker), counts(Arc::<StdBell>::default(), Waker::from));
}

#[test]
fn the_last_waker_frees_the_bell() {
    let bell = Arc::new(Bell::new("task", &Timeline::new()));
    let gone = Arc::downgrade(&bell);
    let waker = over_arc::waker(bell);
    let clone = waker.clone();
    drop(waker);
    assert!(gone.upgrade().is_some());
    clone.wake();
    assert!(gone.upgrade().is_none());
}

#[test]
fn clones_on_other_threads_ring_the_same_bell() {
    let bell = Arc::new(Bell::new("task", &Timeline::new()));
    let waker = over_arc::waker(bell.clone());
    thread::scope(|scope| {
        for _ in 0..4 {
            let waker = waker.clone();
            scope.spawn(move || {
                waker.wake_by_ref();
                waker.wake();
            });
        }
    });
    assert_eq!(bell.rings(), 8);
    drop(waker);
    assert_eq!(Arc::strong_count(&bell), 1);
}

#[test]
fn wakers_of_one_bell_are_told_from_those_of_another() {
    let timeline = Timeline::new();
    let [one, other] = ["one", "other"].map(|name| Arc::new(Bell::new(name, &timeline)));
    let waker = over_arc::waker(one.clone());
    assert!(waker.will_wake(&over_arc::waker(one)));
    assert!(!waker.will_wake(&over_arc::waker(other)));
}

#[test]
fn a_borrowed_waker_counts_nothing_and_its_clone_counts() {
    let timeline = Timeline::new();
    count_borrowed(&timeline);
    let counts = timeline.story_of("bell").into_iter().filter(|line| line.contains("references"));
    assert_eq!(
        counts.collect::<Vec<_>>(),
        [
            "made, references: 1",
            "a borrowed waker of it, references: 1",
            "clone of the borrowed waker, references: 2",
            "wake_by_ref, references: 2",
            "the borrowed waker has ended, references: 2",
            "drop, references: 1",
        ]
    );
}

#[test]
fn a_task_that_waits_without_a_waker_has_lost_it() {
    let timeline = Timeline::new();
    lost::run(&timeline);
    let lost = "waits, and no waker of it exists: LOST";
    let kept = "waits, and one waker of it exists";
    assert_eq!(
        timeline.story_of("anna"),
        ["polled", "returned Pending", kept, "woken by THREAD", "polled", "returned Ready()"]
            .map(|line| line.replace("THREAD", &crate::timeline::thread_name()))
    );
    let bert = timeline.story_of("bert");
    assert_eq!(bert[..4], ["polled", "returned Pending", lost, lost]);
    assert_eq!(bert.last().unwrap(), "returned Ready()", "a poll without a wake-up hides it");
    let carl = timeline.story_of("carl");
    assert_eq!(carl[2], kept);
    assert_eq!(carl.last().unwrap(), lost);
}

#[test]
fn rc_is_neither_send_nor_sync_and_cell_is_send_only() {
    let timeline = Timeline::new();
    send_sync::run(&timeline);
    for (name, send, sync) in [
        ("u32", "yes", "yes"),
        ("Rc", "no", "no"),
        ("Cell", "yes", "no"),
        ("Arc<Cell>", "no", "no"),
        ("Arc", "yes", "yes"),
        ("Mutex<Cell>", "yes", "yes"),
        ("MutexGuard", "no", "yes"),
        ("Waker", "yes", "yes"),
        ("Context", "no", "no"),
    ] {
        let told = format!("may be sent: {send}, may be shared: {sync}");
        assert_eq!(timeline.story_of(name), [told], "{name}");
    }
}

#[test]
fn tasks_are_polled_in_the_order_in_which_they_were_woken() {
    let timeline = Timeline::new();
    let boxes = [(); 3].map(|()| Arc::new(Letterbox::default()));
    let mut tasks = Tasks::default();
    for (name, letterbox) in ["anna", "bert", "carl"].iter().zip(&boxes) {
        tasks.spawn(name, &timeline, letterbox.clone().letter());
    }
    tasks.spawn("postman", &timeline, async move {
        // A scan of all tasks would find them in the order of their ids.
        for letterbox in [&boxes[2], &boxes[0], &boxes[1]] {
            letterbox.deliver();
        }
    });
    tasks.run();
    let polled = timeline.entries().into_iter().filter(|entry| entry.event == Event::Polled);
    let polled: Vec<String> = polled.map(|entry| entry.who).collect();
    assert_eq!(polled, ["anna", "bert", "carl", "postman", "carl", "anna", "bert"]);
}

fn entries(mistake: Mistake) -> Vec<String> {
    let timeline = Timeline::new();
    ledger::live_and_die(&Ledger::new(mistake, &timeline));
    timeline.story_of("ledger")
}

#[test]
fn counted_right_it_is_freed_by_the_last_drop() {
    assert_eq!(
        entries(Mistake::None),
        [
            "clone, references: 2",
            "wake_by_ref, references: 2",
            "wake, references: 1",
            "drop, references: 0; freed",
            "no waker is left, and it was freed in time",
        ]
    );
}

#[test]
fn a_reference_too_few_frees_it_under_a_waker() {
    for mistake in [Mistake::CloneDoesNotCount, Mistake::WakeByRefTakes] {
        let entries = entries(mistake);
        assert_eq!(entries[2], "wake, references: 0; freed", "{mistake:?}");
        assert_eq!(entries[3], "drop, references: -1; USE AFTER FREE", "{mistake:?}");
    }
}

#[test]
fn a_reference_too_many_leaks_it() {
    for mistake in [Mistake::WakeKeeps, Mistake::DropDoesNothing] {
        let entries = entries(mistake);
        assert_eq!(entries[4], "no waker is left, but the count is 1: LEAKED", "{mistake:?}");
    }
}

#[test]
fn tasks_with_numbers_are_polled_once_to_begin_and_once_when_woken() {
    let timeline = Timeline::new();
    let letterbox = Arc::new(Letterbox::default());
    let mut tasks = Tasks::default();
    tasks.spawn("reader", &timeline, letterbox.clone().letter());
    // Delivers as soon as the reader has been polled, in its own queue.
    tasks.spawn("writer", &timeline, async move { letterbox.deliver() });
    tasks.run();
    let reader = timeline.story_of("reader");
    assert_eq!(reader[..2], ["polled", "returned Pending"]);
    assert!(reader[2].starts_with("woken by "));
    assert_eq!(reader[3..], ["polled", "returned Ready()"]);
}

#[test]
fn letters_from_another_thread_arrive() {
    let timeline = Timeline::new();
    by_id::run(&timeline);
    for name in ["anna", "bert"] {
        assert!(timeline.story_of(name).contains(&"returned Ready()".to_owned()));
    }
}

#[test]
fn several_wake_ups_before_a_poll_are_one() {
    let timeline = Timeline::new();
    let polls = Rc::new(Cell::new(0));
    let counted = polls.clone();
    let mut tasks = Tasks::default();
    tasks.spawn(
        "eager",
        &timeline,
        std::future::poll_fn(move |cx| {
            counted.set(counted.get() + 1);
            if counted.get() < 2 {
                for _ in 0..5 {
                    cx.waker().wake_by_ref();
                }
                return std::task::Poll::Pending;
            }
            std::task::Poll::Ready(())
        }),
    );
    tasks.run();
    assert_eq!(polls.get(), 2);
}

#[test]
fn a_number_of_a_task_that_is_gone_wakes_nobody() {
    let timeline = Timeline::new();
    let mut tasks = Tasks::default();
    let done = tasks.spawn("done", &timeline, async {});
    tasks.run();
    let dropped = tasks.spawn("dropped", &timeline, std::future::pending());
    drop(tasks);
    by_id::waker(done).wake();
    by_id::waker(dropped).clone().wake_by_ref();
    assert!(!timeline.story().iter().any(|line| line.contains("woken")), "{:?}", timeline.story());
}
