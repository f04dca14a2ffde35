//! The cases, one file a group, each written once over the traits of [`crate::runtime`].

pub mod blocking;
pub mod mem;
pub mod sched;
pub mod tcp_echo;
pub mod timer;
