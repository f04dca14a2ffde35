//! The macros that are not attributes, and what they expand to calls of.

#[cfg(feature = "macros")]
mod concurrent;
mod pin;

/// What the macros' expansions name. Not for use by hand.
#[doc(hidden)]
pub mod support {
    #[cfg(feature = "macros")]
    pub use super::concurrent::*;
    pub use std::future::{Future, IntoFuture, poll_fn};
    pub use std::option::Option;
    pub use std::pin::Pin;
    pub use std::result::Result;
    pub use std::task::{Context, Poll, ready};
}
