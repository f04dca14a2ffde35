//! Signals of the operating system, awaited.
//!
//! [`ctrl_c`] waits for the key that ends programs; [`unix::signal`] listens for a signal of any kind
//! that can be caught.
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
//! The first listener of a kind puts a handler in place of what the system does by default, most often
//! to end the process. It stays there for as long as the process runs, listeners or not: a program that
//! has once listened for ctrl-c has to end by itself from then on. A handler that was there before is
//! called as well.

mod ctrl_c;
pub mod unix;

pub use ctrl_c::ctrl_c;
