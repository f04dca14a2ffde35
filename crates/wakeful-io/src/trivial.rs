//! Readers and writers that do next to nothing.

mod empty;
mod repeat;
mod sink;

use std::task::{Context, Poll, ready};

use wakeful_base::budget;

pub use empty::{Empty, empty};
pub use repeat::{Repeat, repeat};
pub use sink::{Sink, sink};

/// Always ready, they would never let another task run if they were free.
#[inline]
fn poll_consume_budget(cx: &mut Context<'_>) -> Poll<()> {
    ready!(budget::poll_proceed(cx)).made_progress();
    Poll::Ready(())
}
