//! The reactor: what the operating system reports, and the driver that idle workers park in.
//!
//! | module | contents |
//! |---|---|
//! | [`io`] | readiness of descriptors, by epoll or kqueue |
//! | [`signal`] | Unix signals |
//! | [`time`] | clocks and timers |
//!
//! The reactor knows neither tasks nor schedulers. Whatever waits for an event leaves a `Waker`.
//!
//! This crate is an implementation detail of `wakeful`. Its API follows no version promise.

mod interest;
pub mod io;
mod ready;
pub mod signal;
mod sys;
pub mod time;

pub use interest::Interest;
pub use ready::Ready;
