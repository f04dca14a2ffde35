//! Futures wake their own task and others in each poll, so in that of a dump too.
//!
//! Tokio issue 8391: a dump of a current-thread runtime polled tasks while its core was borrowed, and
//! a wake-up needs the core: `RefCell already borrowed`, which ended a server in production. There it
//! was h2 that woke a stream's task from the connection's.

use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use tokio::runtime::Runtime;
use tokio::task::JoinSet;
use tokio::time::sleep;

use super::Rounds;

type Wakers = Arc<Mutex<Vec<Option<Waker>>>>;

/// Is ready after some polls. Each poll wakes all tasks that wait, and half of them the own task.
struct WakesAll {
    number: usize,
    polls_left: u64,
    wakers: Wakers,
}

impl Future for WakesAll {
    type Output = u64;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<u64> {
        let woken: Vec<Waker> = {
            let mut wakers = self.wakers.lock().unwrap();
            let woken = wakers.iter_mut().filter_map(Option::take).collect();
            wakers[self.number] = (self.polls_left > 0).then(|| cx.waker().clone());
            woken
        };
        woken.into_iter().for_each(Waker::wake);
        if self.polls_left == 0 {
            return Poll::Ready(1);
        }
        self.polls_left -= 1;
        if self.polls_left % 2 == 0 {
            cx.waker().wake_by_ref();
        }
        Poll::Pending
    }
}

/// Gets the group going again if all of its tasks wait for each other.
async fn wake_now_and_then(wakers: Wakers) {
    loop {
        sleep(Duration::from_millis(2)).await;
        let woken: Vec<Waker> =
            wakers.lock().unwrap().iter_mut().filter_map(Option::take).collect();
        woken.into_iter().for_each(Waker::wake);
    }
}

pub fn run(runtime: Runtime) {
    let rounds = Rounds::start();
    runtime.block_on(async {
        while rounds.go_on() {
            let wakers = Wakers::default();
            wakers.lock().unwrap().resize_with(20, || None);
            let helper = tokio::spawn(wake_now_and_then(wakers.clone()));
            let mut tasks = JoinSet::new();
            for number in 0..20 {
                tasks.spawn(WakesAll { number, polls_left: 200, wakers: wakers.clone() });
            }
            assert_eq!(tasks.join_all().await.into_iter().sum::<u64>(), 20);
            helper.abort();
        }
    });
    println!("done");
}
