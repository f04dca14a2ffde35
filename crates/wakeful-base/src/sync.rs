//! The switch between std and loom.
//!
//! Concurrent code takes its atomics, locks, cells and threads from here. Built with `--cfg
//! wakeful_loom`, the same code runs under loom's model checker.

#[cfg(not(wakeful_loom))]
mod real;
#[cfg(not(wakeful_loom))]
pub use real::*;

#[cfg(wakeful_loom)]
mod model;
#[cfg(wakeful_loom)]
pub use model::*;

/// Declares a thread-local, with the syntax of the `const` form of `std::thread_local!`.
#[macro_export]
macro_rules! per_thread {
    ($(#[$attr:meta])* $vis:vis static $name:ident: $ty:ty = const { $init:expr };) => {
        #[cfg(not(wakeful_loom))]
        ::std::thread_local! { $(#[$attr])* $vis static $name: $ty = const { $init }; }
        #[cfg(wakeful_loom)]
        $crate::sync::loom_thread_local! { $(#[$attr])* $vis static $name: $ty = $init; }
    };
}
