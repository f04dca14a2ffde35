//! Differential fuzzing: the same random operations on Wakeful and on Tokio, with the same outcome.
//!
//! A [script](script::Script) is a list of operations over one family of types. Each file in `runs` interprets the
//! scripts of a family; it is compiled twice, against either crate, and writes down what came of each operation:
//! results, counters, which wakers were called and in which order. [`compare`] holds the two [logs](log) beside each
//! other, [`shrink`] cuts a script with a difference down, and [`report`] prints what is left of it as a test.
//!
//! Everything runs on one thread, so a script always gives the same outcome.

pub mod compare;
mod drive;
mod events;
pub mod families;
mod lengths;
mod line;
mod log;
mod on_tokio;
mod on_wakeful;
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
