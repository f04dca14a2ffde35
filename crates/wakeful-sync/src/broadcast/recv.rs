//! The future of `Receiver::recv`.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use wakeful_base::waiting::WaitKind;

use super::Receiver;
use super::error::{RecvError, TryRecvError};
use crate::wait_queue::Waiter;

pub(super) struct Recv<'a, T> {
    receiver: &'a mut Receiver<T>,
    waiter: Waiter,
}

impl<'a, T> Recv<'a, T> {
    pub(super) fn new(receiver: &'a mut Receiver<T>) -> Self {
        Recv { receiver, waiter: Waiter::new() }
    }
}

impl<T: Clone> Future for Recv<'_, T> {
    type Output = Result<T, RecvError>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        // SAFETY: `waiter` is structurally pinned: it is never moved out of `this`, and is used
        // only as a pinned reference. The other field is `Unpin`.
        let this = unsafe { self.get_unchecked_mut() };
        loop {
            match this.receiver.try_recv() {
                Ok(value) => return Poll::Ready(Ok(value)),
                Err(TryRecvError::Closed) => return Poll::Ready(Err(RecvError::Closed)),
                Err(TryRecvError::Lagged(missed)) => {
                    return Poll::Ready(Err(RecvError::Lagged(missed)));
                }
                Err(TryRecvError::Empty) => {}
            }
            let Receiver { ring, next } = &*this.receiver;
            // SAFETY: `this` came from a `Pin`, and `waiter` is structurally pinned.
            let waiter = unsafe { Pin::new_unchecked(&this.waiter) };
            // SAFETY: the waiter enters only this queue, and leaves it in `drop`. The ring outlives
            // `self`, since the borrowed receiver holds an `Arc` of it.
            if unsafe { ring.queue.poll_over(*next, waiter, cx.waker()) }.is_pending() {
                ring.note_wait(WaitKind::Broadcast, cx.waker());
                return Poll::Pending;
            }
        }
    }
}

impl<T> Drop for Recv<'_, T> {
    #[inline]
    fn drop(&mut self) {
        // SAFETY: a waiter that has entered a queue was pinned in `poll`, and stays pinned until it
        // is dropped. Other threads do not access a waiter that has not entered any queue.
        let waiter = unsafe { Pin::new_unchecked(&self.waiter) };
        // SAFETY: this is the only queue that the waiter ever entered.
        unsafe { self.receiver.ring.queue.leave(waiter) };
    }
}
