//! What the operating system tells us: the driver that idle workers wait in.
//!
//! That is readiness of descriptors ([`io`]), through epoll, [`signal`]s, and [`time`]. It knows neither
//! tasks nor schedulers: who waits is a `Waker`.
//!
//! This crate is an implementation detail of `wakeful`; its API follows no version promise.

mod interest;
pub mod io;
mod ready;
pub mod signal;
mod sys;
pub mod time;

pub use interest::Interest;
pub use ready::Ready;
