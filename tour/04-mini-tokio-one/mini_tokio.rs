//! The executor, all of it.
//!
//! 执行器，全部都在这里。

use std::collections::VecDeque;
use std::pin::Pin;
use std::task::{Context, Poll, Waker};

/// A future from which nothing is wanted but that it comes to its end.
///
/// Boxed, since futures are of all sizes and a queue has one; pinned, since they are about to be
/// polled.
type Task = Pin<Box<dyn Future<Output = ()>>>;

pub(super) struct MiniTokio {
    tasks: VecDeque<Task>,
}

/// What a run amounted to.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Tally {
    pub(super) polls: u64,
    /// The polls that returned `Ready`.
    pub(super) done: u64,
}

impl MiniTokio {
    pub(super) fn new() -> MiniTokio {
        MiniTokio { tasks: VecDeque::new() }
    }

    /// Puts a future in line. It does not begin before [`run`](MiniTokio::run) gets to it.
    pub(super) fn spawn(&mut self, future: impl Future<Output = ()> + 'static) {
        self.tasks.push_back(Box::pin(future));
    }

    /// Polls the first task in line, and puts those that are not ready at its end, until the line
    /// is empty.
    pub(super) fn run(&mut self) -> Tally {
        // A context needs a waker. This one may be called from anywhere, and does nothing: every
        // task is polled again anyway, as soon as its turn comes.
        let mut cx = Context::from_waker(Waker::noop());
        let mut tally = Tally::default();
        while let Some(mut task) = self.tasks.pop_front() {
            tally.polls += 1;
            match task.as_mut().poll(&mut cx) {
                // Dropped here, and so never polled again.
                Poll::Ready(()) => tally.done += 1,
                Poll::Pending => self.tasks.push_back(task),
            }
        }
        tally
    }
}
