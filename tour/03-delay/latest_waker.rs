//! One thread, and a slot in which it finds the waker of the latest poll.
//!
//! 一个线程，加一个槽；线程在槽里找到最近一次来轮询的任务的 waker。

use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, Waker};

use super::Alarm;

pub(super) struct Delay {
    alarm: Alarm,
    /// There when a thread has been started.
    slot: Option<Arc<Slot>>,
}

/// The waker to call. The task replaces it, and the thread calls it.
pub(super) struct Slot {
    waker: Mutex<Waker>,
}

impl Slot {
    pub(super) fn new(waker: &Waker) -> Slot {
        Slot { waker: Mutex::new(waker.clone()) }
    }

    pub(super) fn update(&self, waker: &Waker) {
        let mut known = self.waker.lock().unwrap_or_else(PoisonError::into_inner);
        // Clones only if `!known.will_wake(waker)`. Mostly the same task polls again.
        known.clone_from(waker);
    }

    pub(super) fn wake(&self) {
        let waker = self.waker.lock().unwrap_or_else(PoisonError::into_inner).clone();
        // Not under the lock: a waker runs code of an executor, which could poll this delay at
        // once.
        waker.wake();
    }
}

impl Delay {
    pub(super) fn new(alarm: Alarm) -> Delay {
        Delay { alarm, slot: None }
    }
}

impl Future for Delay {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        // First the waker, then the clock. The other way round, the moment could pass in between:
        // the poll looks and is early, the thread calls the old waker, the poll puts in the new one
        // and returns `Pending`, and no thread is left to call it.
        if let Some(slot) = &self.slot {
            slot.update(cx.waker());
        }
        if self.alarm.is_due() {
            return Poll::Ready(());
        }
        if self.slot.is_none() {
            let slot = Arc::new(Slot::new(cx.waker()));
            self.slot = Some(slot.clone());
            self.alarm.start_thread(move || slot.wake());
        }
        Poll::Pending
    }
}
