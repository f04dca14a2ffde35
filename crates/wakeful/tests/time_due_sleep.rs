//! A sleep that is due at its first poll still yields to other tasks, as programs expect.

mod support;

use std::cell::Cell;
use std::rc::Rc;
use std::time::Duration;
use support::{current_thread, each_flavor};
use wakeful::sync::oneshot;
use wakeful::task::{LocalSet, spawn_local, yield_now};
use wakeful::time::{Instant, interval, sleep, timeout, timeout_at};

const SHORT: [Duration; 3] = [Duration::ZERO, Duration::from_nanos(1), Duration::from_micros(1)];

#[test]
fn a_spawned_task_runs_before_the_sleep_ends() {
    for duration in SHORT {
        for _ in 0..100 {
            current_thread().block_on(async {
                let sibling = wakeful::spawn(async {});
                sleep(duration).await;
                assert!(sibling.is_finished(), "{duration:?} in `block_on`");
                let main = wakeful::spawn(async move {
                    let sibling = wakeful::spawn(async {});
                    sleep(duration).await;
                    sibling.is_finished()
                });
                assert!(main.await.unwrap(), "{duration:?} in a task");
            });
        }
    }
}

#[test]
fn all_tasks_queued_before_the_sleep_run_first() {
    current_thread().block_on(async {
        let main = wakeful::spawn(async {
            let siblings: Vec<_> = (0..1000).map(|_| wakeful::spawn(async {})).collect();
            sleep(Duration::ZERO).await;
            siblings.iter().filter(|sibling| sibling.is_finished()).count()
        });
        assert_eq!(main.await.unwrap(), 1000);
    });
}

#[test]
fn a_spawned_task_of_a_local_set_runs_before_the_sleep_ends() {
    for duration in SHORT {
        LocalSet::new().block_on(&current_thread(), async {
            let sibling = spawn_local(async {});
            sleep(duration).await;
            assert!(sibling.is_finished(), "{duration:?}");
        });
    }
}

#[test]
fn a_zero_timeout_lets_the_sender_send() {
    for runtime in each_flavor() {
        runtime.block_on(async {
            let task = wakeful::spawn(async {
                for _ in 0..100 {
                    let (sender, receiver) = oneshot::channel();
                    let send = wakeful::spawn(async move { sender.send(7) });
                    let received = timeout(Duration::ZERO, receiver).await;
                    // With several workers the send may still be running.
                    if send.is_finished() {
                        assert_eq!(received, Ok(Ok(7)));
                    }
                    send.await.unwrap().ok();
                }
            });
            task.await.unwrap();
        });
    }
    current_thread().block_on(async {
        for _ in 0..100 {
            let (sender, receiver) = oneshot::channel();
            wakeful::spawn(async move { sender.send(7) });
            assert_eq!(timeout(Duration::ZERO, receiver).await, Ok(Ok(7)));
        }
    });
}

#[test]
fn a_zero_timeout_outlasts_a_yield() {
    for runtime in each_flavor() {
        runtime.block_on(async {
            assert_eq!(timeout(Duration::ZERO, yield_now()).await, Ok(()));
            let task = wakeful::spawn(async { timeout(Duration::ZERO, yield_now()).await });
            assert_eq!(task.await.unwrap(), Ok(()));
            assert_eq!(timeout_at(Instant::now(), yield_now()).await, Ok(()));
        });
    }
}

#[test]
fn the_first_tick_and_a_reset_to_now_yield_too() {
    current_thread().block_on(async {
        let sibling = wakeful::spawn(async {});
        interval(Duration::from_millis(1)).tick().await;
        assert!(sibling.is_finished(), "the first tick");

        let mut sleep = std::pin::pin!(sleep(Duration::from_secs(60)));
        let sibling = wakeful::spawn(async {});
        sleep.as_mut().reset(Instant::now());
        sleep.await;
        assert!(sibling.is_finished(), "a reset");
    });
}

#[test]
fn a_loop_of_zero_sleeps_does_not_starve_other_tasks() {
    LocalSet::new().block_on(&current_thread(), async {
        let flag = Rc::new(Cell::new(false));
        let setter = flag.clone();
        spawn_local(async move {
            for _ in 0..10 {
                yield_now().await;
            }
            setter.set(true);
        });
        let mut rounds = 0;
        while !flag.get() {
            sleep(Duration::ZERO).await;
            rounds += 1;
        }
        assert!(rounds >= 10, "{rounds}");
    });
}
