//! Wakeful: an async runtime for Rust.
//!
//! It has the API of Tokio 1.x under its own name, so a program moves over by changing the crate it
//! names, or through the drop-in crate without changing anything.
//!
//! ```
//! # #[cfg(feature = "rt-multi-thread")] {
//! let runtime = wakeful::runtime::Runtime::new().unwrap();
//! let sum = runtime.block_on(async {
//!     let parts: Vec<_> = (1..=10).map(|n| wakeful::spawn(async move { n * n })).collect();
//!     let mut sum = 0;
//!     for part in parts {
//!         sum += part.await.unwrap();
//!     }
//!     sum
//! });
//! assert_eq!(sum, 385);
//! # }
//! ```

#[cfg(feature = "fs")]
pub mod fs;
#[cfg(feature = "io")]
pub mod io;
#[doc(hidden)]
pub mod macros;
#[cfg(feature = "net")]
pub mod net;
#[cfg(feature = "process")]
pub mod process;
#[cfg(feature = "signal")]
pub mod signal;

/// Addresses; what takes them comes with feature `net`.
#[cfg(not(feature = "net"))]
pub mod net {
    mod addr;

    pub use addr::ToSocketAddrs;
}

#[cfg(feature = "rt")]
pub use wakeful_runtime::{runtime, task, task_local};

#[cfg(feature = "time")]
pub use wakeful_runtime::time;

#[cfg(feature = "rt")]
pub use task::spawn;

#[cfg(feature = "sync")]
pub use wakeful_sync as sync;

#[cfg(all(feature = "macros", feature = "rt", feature = "rt-multi-thread"))]
pub use wakeful_macros::{main, test};
#[cfg(all(feature = "macros", feature = "rt", not(feature = "rt-multi-thread")))]
pub use wakeful_macros::{main_rt as main, test_rt as test};
#[cfg(all(feature = "macros", not(feature = "rt")))]
pub use wakeful_macros::{without_rt as main, without_rt as test};

/// What the drop-in re-exports under other names.
#[cfg(all(feature = "macros", feature = "rt"))]
#[doc(hidden)]
pub mod drop_in {
    pub use wakeful_macros::{tokio_main, tokio_main_rt, tokio_test, tokio_test_rt};
}
