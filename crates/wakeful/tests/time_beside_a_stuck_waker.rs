//! A waker that does not return keeps its worker in the driver. Timers of the other workers fire all the same, whether
//! they were to be served by that worker or not.

mod support;

use std::io::Write;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::*};
use std::task::{Context, Poll, Wake, Waker};
use std::time::Duration;
use support::{Flag, eventually, multi_thread};
use wakeful::net::UnixStream;
use wakeful::time::sleep;

/// Does not return until others are done.
struct StuckWaker {
    is_stuck: Flag,
    others_done: Flag,
}

impl Wake for StuckWaker {
    fn wake(self: Arc<Self>) {
        self.is_stuck.set();
        self.others_done.block();
    }
}

#[test]
fn timers_of_other_workers_fire_while_a_waker_is_stuck_in_the_driver() {
    let runtime = multi_thread(2);
    // So many that workers wake up on beats, and one for both.
    let rounds = Arc::new(AtomicUsize::new(0));
    for task in 0..500 {
        let rounds = rounds.clone();
        drop(runtime.spawn(async move {
            loop {
                sleep(Duration::from_micros(1_000 + task * 7)).await;
                rounds.fetch_add(1, Relaxed);
            }
        }));
    }
    eventually("timers fire", || rounds.load(Relaxed) > 5_000);

    let (is_stuck, others_done) = (Flag::default(), Flag::default());
    let stuck =
        Arc::new(StuckWaker { is_stuck: is_stuck.clone(), others_done: others_done.clone() });
    let (ours, theirs) = std::os::unix::net::UnixStream::pair().unwrap();
    ours.set_nonblocking(true).unwrap();
    let ours = {
        let _inside = runtime.enter();
        UnixStream::from_std(ours).unwrap()
    };
    let waker = Waker::from(stuck);
    let mut cx = Context::from_waker(&waker);
    let mut readable = pin!(ours.readable());
    assert!(matches!(readable.as_mut().poll(&mut cx), Poll::Pending));
    (&theirs).write_all(b"x").unwrap();
    is_stuck.block();

    // The other worker has these, and arms their timers itself.
    let sleepers: Vec<_> = (0..100)
        .map(|task| {
            runtime.spawn(async move {
                for _ in 0..5 {
                    sleep(Duration::from_micros(500 + task * 11)).await;
                }
            })
        })
        .collect();
    runtime.block_on(async {
        for sleeper in sleepers {
            sleeper.await.unwrap();
        }
    });
    others_done.set();
    let before = rounds.load(Relaxed);
    eventually("all timers fire again", || rounds.load(Relaxed) > before + 5_000);
}
