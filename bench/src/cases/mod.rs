//! The cases, one file per group. Each case is written once, on the traits of [`crate::runtime`].

pub mod blocking;
pub mod blocking_abuse;
pub mod crowded;
pub mod fairness;
pub mod file;
pub mod http;
pub mod inside;
pub mod mem;
pub mod neighbours;
pub mod paced_echo;
pub mod quota;
pub mod sched;
mod serving;
mod split_work;
pub mod sync;
pub mod tcp_echo;
mod ticking;
pub mod timer;
