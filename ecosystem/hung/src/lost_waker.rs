//! A hand-written future does not keep the waker, so nothing can wake its task.

use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use tokio::runtime::Runtime;
use tokio::time::sleep;

/// A flag that can be awaited.
#[derive(Default)]
struct Flag {
    is_set: AtomicBool,
    was_polled: AtomicBool,
    /// Stays empty if the future forgets it.
    waker: Mutex<Option<Waker>>,
}

impl Flag {
    fn set(&self) {
        self.is_set.store(true, Ordering::SeqCst);
        if let Some(waker) = self.waker.lock().unwrap().take() {
            waker.wake();
        }
    }
}

struct IsSet {
    flag: Arc<Flag>,
    keeps_waker: bool,
}

impl Future for IsSet {
    type Output = ();

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        if self.keeps_waker {
            *self.flag.waker.lock().unwrap() = Some(cx.waker().clone());
        }
        if self.flag.is_set.load(Ordering::SeqCst) {
            return Poll::Ready(());
        }
        self.flag.was_polled.store(true, Ordering::SeqCst);
        Poll::Pending
    }
}

/// Sets the flag when the other task waits for it.
async fn set(flag: Arc<Flag>) {
    while !flag.was_polled.load(Ordering::SeqCst) {
        sleep(Duration::from_millis(1)).await;
    }
    sleep(Duration::from_millis(10)).await;
    flag.set();
}

pub fn hung(runtime: Runtime) {
    runtime.block_on(async {
        let flag = Arc::new(Flag::default());
        let waits = tokio::spawn(IsSet { flag: flag.clone(), keeps_waker: false });
        tokio::spawn(set(flag)).await.unwrap();
        println!("ready");
        waits.await.unwrap();
    });
}

pub fn healthy(runtime: Runtime) {
    runtime.block_on(async {
        println!("ready");
        loop {
            let flag = Arc::new(Flag::default());
            let waits = tokio::spawn(IsSet { flag: flag.clone(), keeps_waker: true });
            tokio::spawn(set(flag)).await.unwrap();
            waits.await.unwrap();
            println!("tick");
        }
    });
}
