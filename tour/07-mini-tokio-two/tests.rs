use std::future::{pending, poll_fn};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{self, TryRecvError, TrySendError};
use std::sync::{Arc, Mutex};
use std::task::{Poll, Waker};
use std::thread;

use super::queues::{self, Channel, TaskSender};
use super::{
    MiniTokio, Report, Task, keeps_a_sender, misfortunes, same_program, woken_after_ready,
};
use crate::timeline::{Event, Timeline};

/// The three queues of the step; the third is full as soon as two tasks are ready.
fn channels(timeline: &Timeline) -> [Channel; 3] {
    [queues::std_mpsc(), queues::crossbeam(), queues::bounded(1, timeline)]
}

/// Returns `Pending` once, having woken its task.
async fn yield_now() {
    let mut has_yielded = false;
    poll_fn(|cx| {
        if has_yielded {
            return Poll::Ready(());
        }
        has_yielded = true;
        cx.waker().wake_by_ref();
        Poll::Pending
    })
    .await;
}

async fn own_waker() -> Waker {
    poll_fn(|cx| Poll::Ready(cx.waker().clone())).await
}

fn completed(count: usize) -> Report {
    Report { completed: count, ..Report::default() }
}

#[test]
fn the_same_program_runs_on_each_queue() {
    for index in 0..3 {
        let timeline = Timeline::new();
        let channel = channels(&timeline).into_iter().nth(index).unwrap();
        assert_eq!(same_program(&timeline, channel), completed(4));
        assert!(timeline.story().contains(&"child says hello".to_owned()));
        // Each timer cost its task two polls and no more: none was asked in between.
        for task in ["slow", "fast"] {
            assert_eq!(timeline.count(task, &Event::Polled), 2);
            assert_eq!(timeline.count(task, &Event::Woken("reactor".to_owned())), 1);
        }
    }
}

#[test]
fn tasks_are_polled_in_the_order_in_which_they_became_ready() {
    for index in 0..3 {
        let timeline = Timeline::new();
        let channel = channels(&timeline).into_iter().nth(index).unwrap();
        let mini_tokio = MiniTokio::new(&timeline, channel);
        for name in ["a", "b", "c"] {
            mini_tokio.spawner().spawn(name, yield_now());
        }
        assert_eq!(mini_tokio.run(), completed(3));
        let polled = timeline.entries().into_iter().filter(|entry| entry.event == Event::Polled);
        let polled: Vec<String> = polled.map(|entry| entry.who).collect();
        assert_eq!(polled, ["a", "b", "c", "a", "b", "c"]);
    }
}

#[test]
fn a_full_queue_loses_nothing() {
    for capacity in [1, 7] {
        let timeline = Timeline::new();
        let mini_tokio = MiniTokio::new(&timeline, queues::bounded(capacity, &timeline));
        for name in 0..20 {
            mini_tokio.spawner().spawn(&name.to_string(), async {
                for _ in 0..10 {
                    yield_now().await;
                }
            });
        }
        assert_eq!(mini_tokio.run(), completed(20));
    }
}

#[test]
fn a_full_queue_loses_nothing_that_other_threads_send() {
    const ROUNDS: usize = 200;
    let timeline = Timeline::new();
    let mini_tokio = MiniTokio::new(&timeline, queues::bounded(1, &timeline));
    let (wakers, inbox) = crossbeam_channel::unbounded::<Waker>();
    for name in 0..8 {
        let wakers = wakers.clone();
        mini_tokio.spawner().spawn(&name.to_string(), async move {
            for _ in 0..ROUNDS {
                let mut is_sent = false;
                poll_fn(|cx| {
                    if is_sent {
                        return Poll::Ready(());
                    }
                    is_sent = true;
                    wakers.send(cx.waker().clone()).unwrap();
                    Poll::Pending
                })
                .await;
            }
        });
    }
    drop(wakers);
    thread::scope(|scope| {
        for _ in 0..3 {
            let inbox = inbox.clone();
            scope.spawn(move || inbox.iter().for_each(Waker::wake));
        }
        assert_eq!(mini_tokio.run(), completed(8));
    });
}

#[test]
fn a_queue_that_drops_what_it_has_no_room_for_loses_tasks() {
    struct Careless(mpsc::SyncSender<Arc<Task>>);

    impl TaskSender for Careless {
        fn send(&self, task: Arc<Task>) {
            let refused = self.0.try_send(task);
            assert!(!matches!(refused, Err(TrySendError::Disconnected(_))));
        }
    }

    let timeline = Timeline::new();
    let (sender, receiver) = mpsc::sync_channel(1);
    let mini_tokio = MiniTokio::new(&timeline, (Arc::new(Careless(sender)), Box::new(receiver)));
    for name in ["a", "b", "c"] {
        mini_tokio.spawner().spawn(name, async {});
    }
    assert_eq!(mini_tokio.run(), completed(1));
}

#[test]
fn a_task_that_keeps_waking_itself_does_not_hold_up_those_beside_a_full_queue() {
    let timeline = Timeline::new();
    let mini_tokio = MiniTokio::new(&timeline, queues::bounded(1, &timeline));
    let arrived = Arc::new(AtomicUsize::new(0));
    let seen = arrived.clone();
    mini_tokio.spawner().spawn("restless", async move {
        while seen.load(Ordering::Relaxed) < 5 {
            yield_now().await;
        }
    });
    for name in ["a", "b", "c", "d", "e"] {
        let arrived = arrived.clone();
        mini_tokio.spawner().spawn(name, async move {
            yield_now().await;
            arrived.fetch_add(1, Ordering::Relaxed);
        });
    }
    assert_eq!(mini_tokio.run(), completed(6));
}

#[test]
fn a_task_that_is_woken_twice_is_polled_once() {
    let timeline = Timeline::new();
    let mini_tokio = MiniTokio::new(&timeline, queues::std_mpsc());
    let mut polls = 0;
    mini_tokio.spawner().spawn("popular", async move {
        poll_fn(|cx| {
            polls += 1;
            if polls == 2 {
                return Poll::Ready(());
            }
            cx.waker().wake_by_ref();
            cx.waker().wake_by_ref();
            Poll::Pending
        })
        .await;
    });
    assert_eq!(mini_tokio.run(), completed(1));
    assert_eq!(timeline.count("popular", &Event::Polled), 2);
}

#[test]
fn a_task_that_is_woken_after_ready_is_not_polled() {
    let timeline = Timeline::new();
    let report = woken_after_ready(&timeline);
    assert_eq!(report, Report { completed: 2, panicked: 0, spurious: 1 });
    assert_eq!(timeline.count("hasty", &Event::Polled), 1);
}

#[test]
fn a_panic_ends_its_task_and_no_other() {
    let timeline = Timeline::new();
    let report = misfortunes(&timeline);
    assert_eq!(report, Report { completed: 1, panicked: 1, spurious: 0 });
    assert_eq!(timeline.story_of("clumsy"), ["polled", "panicked: dropped the cup"]);
    assert_eq!(timeline.story_of("bystander"), ["polled", "returned Ready()"]);
}

#[test]
fn a_panic_while_the_finished_future_is_dropped_ends_its_task_and_no_other() {
    struct Fragile;

    impl Drop for Fragile {
        fn drop(&mut self) {
            panic!("broke when put away");
        }
    }

    let timeline = Timeline::new();
    let mini_tokio = MiniTokio::new(&timeline, queues::std_mpsc());
    let fragile = Fragile;
    // Not used up by the body, so it is dropped with the future and not before.
    mini_tokio.spawner().spawn(
        "fragile",
        poll_fn(move |_| {
            let _held = &fragile;
            Poll::Ready(())
        }),
    );
    mini_tokio.spawner().spawn("bystander", async {});
    assert_eq!(mini_tokio.run(), Report { completed: 1, panicked: 1, spurious: 0 });
}

#[test]
fn a_task_that_nobody_can_wake_is_dropped() {
    let timeline = Timeline::new();
    misfortunes(&timeline);
    assert_eq!(
        timeline.story_of("forgetful"),
        ["polled", "returned Pending", "no waker is left that could wake it: dropped, unfinished"]
    );
}

#[test]
fn a_finished_future_is_dropped_at_once_even_if_its_waker_lives_on() {
    let timeline = Timeline::new();
    let mini_tokio = MiniTokio::new(&timeline, queues::std_mpsc());
    let kept = Arc::new(Mutex::new(None));
    let (keeps, held) = (kept.clone(), Arc::new(()));
    let is_held = Arc::downgrade(&held);
    mini_tokio.spawner().spawn("owner", async move {
        *keeps.lock().unwrap() = Some(own_waker().await);
        drop(held);
    });
    mini_tokio.spawner().spawn("looks", async move {
        assert!(is_held.upgrade().is_none());
        drop(kept.lock().unwrap().take());
    });
    assert_eq!(mini_tokio.run(), completed(2));
}

#[test]
fn it_runs_for_as_long_as_somebody_can_spawn() {
    let timeline = Timeline::new();
    let mini_tokio = MiniTokio::new(&timeline, queues::std_mpsc());
    let spawner = mini_tokio.spawner();
    let other = thread::spawn(move || {
        for name in ["a", "b"] {
            spawner.spawn(name, yield_now());
        }
    });
    assert_eq!(mini_tokio.run(), completed(2));
    other.join().unwrap();
}

#[test]
fn an_executor_that_is_dropped_drops_its_tasks() {
    for index in 0..3 {
        let timeline = Timeline::new();
        let channel = channels(&timeline).into_iter().nth(index).unwrap();
        let mini_tokio = MiniTokio::new(&timeline, channel);
        let held = Arc::new(());
        for name in ["a", "b", "c"] {
            let held = held.clone();
            mini_tokio.spawner().spawn(name, async move {
                pending::<()>().await;
                drop(held);
            });
        }
        drop(mini_tokio);
        assert_eq!(Arc::strong_count(&held), 1, "queue {index}");
    }
}

#[test]
fn what_is_woken_or_spawned_after_the_end_is_dropped() {
    for index in 0..3 {
        let timeline = Timeline::new();
        let channel = channels(&timeline).into_iter().nth(index).unwrap();
        let mini_tokio = MiniTokio::new(&timeline, channel);
        let spawner = mini_tokio.spawner();
        drop(mini_tokio);
        let held = Arc::new(());
        let goes_with_it = held.clone();
        spawner.spawn("late", async move { drop(goes_with_it) });
        assert_eq!(Arc::strong_count(&held), 1, "queue {index}");
        assert_eq!(timeline.count("late", &Event::Polled), 0);
    }
}

#[test]
fn an_executor_that_keeps_a_sender_never_hears_that_the_queue_has_ended() {
    let [while_kept, when_given_up] = keeps_a_sender(&Timeline::new());
    assert_eq!(while_kept, Some(TryRecvError::Empty));
    assert_eq!(when_given_up, Some(TryRecvError::Disconnected));
}

/// Older tutorials say `send(task).expect("task queue full")`. It fails for another reason.
#[test]
fn send_on_a_full_channel_waits_and_fails_only_without_a_receiver() {
    let (sender, receiver) = mpsc::sync_channel(1);
    sender.send(1).unwrap();
    assert_eq!(sender.try_send(2), Err(TrySendError::Full(2)));
    let waits = sender.clone();
    let other = thread::spawn(move || waits.send(2));
    // The first makes room for the second, whose send succeeds, however long it took.
    assert_eq!((receiver.recv(), receiver.recv()), (Ok(1), Ok(2)));
    assert_eq!(other.join().unwrap(), Ok(()));
    drop(receiver);
    assert!(sender.send(3).is_err());
}

/// The recap on the page, point by point.
#[test]
fn a_wake_up_goes_the_whole_way_in_six_points() {
    let timeline = Timeline::new();
    same_program(&timeline, queues::std_mpsc());
    // One of the two timers belongs to `slow`, the other to `fast`; their numbers tell which.
    let of_slow = |line: &String| line.starts_with("slow ") || line.starts_with("timer 1 ");
    let story: Vec<String> = timeline.story().into_iter().filter(of_slow).collect();
    let armed = story.iter().position(|line| line.starts_with("timer 1 timer armed")).unwrap();
    assert_eq!(story[..armed], ["slow polled"]);
    assert_eq!(
        story[armed + 1..],
        [
            "slow returned Pending",
            "timer 1 timer fired",
            "slow woken by reactor",
            "slow polled",
            "slow returned Ready()",
        ]
    );
}
