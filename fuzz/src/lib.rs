//! Differential fuzzing: runs the same random operations on Wakeful and on Tokio, and compares the
//! outcomes.
//!
//! A [script](script::Script) is a list of operations on one family of types. Each file in `runs`
//! interprets the scripts of a family. It is compiled twice, once against each crate, and logs the
//! outcome of each operation: results, counters, which wakers were called and in which order.
//! [`compare`] compares the two [logs](log), [`shrink`] shrinks a script whose logs differ, and
//! [`report`] prints what is left of it as a test.
//!
//! Everything runs on one thread, so a script always has the same outcome.

pub mod compare;
mod drive;
mod events;
pub mod families;
mod lengths;
mod log;
mod on_tokio;
mod on_wakeful;
mod pending_futures;
pub mod random;
pub mod report;
pub mod script;
pub mod scripts;
pub mod shrink;
mod value;
mod wakers;

pub use compare::check;
pub use log::Log;
pub use script::Place;
