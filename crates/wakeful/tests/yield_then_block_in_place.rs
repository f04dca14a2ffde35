//! A poll that yields and then calls `block_in_place`.

mod support;

use std::future::{Future, poll_fn};
use std::pin::pin;
use std::sync::mpsc;
use std::time::Duration;
use support::multi_thread;
use wakeful::task::{block_in_place, yield_now};

#[test]
fn a_task_that_yielded_before_block_in_place_is_polled_again() {
    let runtime = multi_thread(1);
    let (done, is_done) = mpsc::channel();
    runtime.spawn(async move {
        let (mut yielding, mut blocked) = (pin!(yield_now()), false);
        poll_fn(|cx| {
            let polled = yielding.as_mut().poll(cx);
            if !std::mem::replace(&mut blocked, true) {
                block_in_place(|| {
                    // Once another task has run, another thread has taken over the worker.
                    let (ran, has_run) = mpsc::channel();
                    wakeful::spawn(async move { ran.send(()).unwrap() });
                    has_run.recv().unwrap();
                });
            }
            polled
        })
        .await;
        done.send(()).unwrap();
    });
    is_done.recv_timeout(Duration::from_secs(10)).expect("the task was not polled again");
}
