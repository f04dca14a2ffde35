//! Readers and writers without a data source or destination.

mod empty;
mod repeat;
mod sink;

use std::task::{Context, Poll, ready};

use wakeful_base::budget;

pub use empty::{Empty, empty};
pub use repeat::{Repeat, repeat};
pub use sink::{Sink, sink};

/// Consumes a unit of the task's budget. The types in this module are always ready, so without a
/// budget a loop over them would never yield to other tasks.
#[inline]
fn poll_consume_budget(cx: &mut Context<'_>) -> Poll<()> {
    ready!(budget::poll_proceed(cx)).made_progress();
    Poll::Ready(())
}
