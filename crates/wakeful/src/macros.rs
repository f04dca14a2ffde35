//! The macros that are not attributes, and the functions that their expansions call.

#[cfg(feature = "macros")]
mod concurrent;
mod pin;

/// The items that the macros' expansions name. Not part of the public API.
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
