//! Signals of the operating system.
//!
//! [`ctrl_c`] waits for Ctrl-C; [`unix::signal`] listens for a signal of any kind that can be
//! caught.
//!
//! ```
//! # wakeful::runtime::Runtime::new().unwrap().block_on(async {
//! use wakeful::signal::unix::{SignalKind, signal};
//!
//! let mut hangups = signal(SignalKind::hangup())?;
//! # let reload = || ();
//! # unsafe { libc::raise(libc::SIGHUP) };
//! hangups.recv().await;
//! reload();
//! # std::io::Result::Ok(()) }).unwrap();
//! ```
//!
//! A service usually stops when a supervisor sends SIGTERM, or when Ctrl-C is pressed:
//!
//! ```
//! # wakeful::runtime::Runtime::new().unwrap().block_on(async {
//! use wakeful::signal::ctrl_c;
//! use wakeful::signal::unix::{SignalKind, signal};
//!
//! let mut terminate = signal(SignalKind::terminate())?;
//! # unsafe { libc::raise(libc::SIGTERM) };
//! wakeful::select! {
//!     _ = terminate.recv() => {}
//!     result = ctrl_c() => result?,
//! }
//! // Stop accepting connections, and wait for the tasks that still serve one.
//! # std::io::Result::Ok(()) }).unwrap();
//! ```
//!
//! If a signal arrives several times before its listener is polled, it is reported once.
//!
//! The first listener for a signal installs a handler. The handler replaces the system's default
//! action, which for most signals ends the process. It stays installed until the process exits,
//! even if no listener is left: once a program has listened for Ctrl-C, Ctrl-C no longer ends it. A
//! handler that was installed before is called too.

mod ctrl_c;
pub mod unix;

pub use ctrl_c::ctrl_c;
