//! Tells a task that something has happened, and forgets nothing.
//!
//! 告诉任务有事发生，什么也不忘。

use std::collections::VecDeque;
use std::mem;
use std::pin::Pin;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

/// Tells one waiting task at a time. If there is none, the next one to come is told at once.
#[derive(Default)]
pub struct Notify {
    line: Mutex<Line>,
}

#[derive(Default)]
struct Line {
    /// A notification that found no task waiting. There is at most one: two that no task has seen
    /// tell no more than one does, namely "look again".
    has_permit: bool,
    /// The wakers of waiting tasks, with their tickets, in the order in which they came.
    waiting: VecDeque<(u64, Waker)>,
    tickets_given: u64,
}

impl Notify {
    /// Tells the first in line, or leaves a permit.
    pub fn notify_one(&self) {
        let first = {
            let mut line = self.lock();
            let first = line.waiting.pop_front();
            line.has_permit |= first.is_none();
            first
        };
        // The lock is released: a waker may do anything, even come back here.
        if let Some((_, waker)) = first {
            waker.wake();
        }
    }

    /// Waits to be told. It stands in line from its first poll on, not before.
    pub fn notified(&self) -> Notified<'_> {
        Notified { notify: self, place: Place::Outside }
    }

    fn lock(&self) -> MutexGuard<'_, Line> {
        self.line.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Line {
    fn position(&self, ticket: u64) -> Option<usize> {
        self.waiting.iter().position(|(other, _)| *other == ticket)
    }
}

/// Waits for [`Notify::notify_one`].
pub struct Notified<'n> {
    notify: &'n Notify,
    place: Place,
}

enum Place {
    /// Never polled.
    Outside,
    /// Got this ticket. If it is not in line any more, then it was taken out, and that *is* the
    /// notification. It need not be stored anywhere else.
    InLine(u64),
    /// Told, and has said so.
    Done,
}

impl Future for Notified<'_> {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        // Cloned before the lock is taken, and the old one is dropped after it is released: see the
        // timers of step 6.
        let waker = cx.waker().clone();
        let _outdated;
        let notify = self.notify;
        // To look for a permit and to get in line is one step. A notification comes before it, and
        // then leaves a permit, or after it, and then finds us in line. There is no in between.
        let mut line = notify.lock();
        match self.place {
            Place::Outside if mem::take(&mut line.has_permit) => {}
            Place::Outside => {
                line.tickets_given += 1;
                let ticket = line.tickets_given;
                line.waiting.push_back((ticket, waker));
                self.place = Place::InLine(ticket);
                return Poll::Pending;
            }
            Place::InLine(ticket) => {
                if let Some(position) = line.position(ticket) {
                    _outdated = mem::replace(&mut line.waiting[position].1, waker);
                    return Poll::Pending;
                }
            }
            Place::Done => {
                drop(line);
                panic!("a `Notified` was polled after it had completed");
            }
        }
        self.place = Place::Done;
        Poll::Ready(())
    }
}

impl Drop for Notified<'_> {
    fn drop(&mut self) {
        let Place::InLine(ticket) = self.place else { return };
        let left = {
            let mut line = self.notify.lock();
            line.position(ticket).and_then(|position| line.waiting.remove(position))
        };
        // Told, but dropped before it could see that. The notification was meant for any one
        // waiting task, so it goes to the next.
        if left.is_none() {
            self.notify.notify_one();
        }
    }
}
