//! What the torture programs share: arguments, random numbers, a watchdog, counts, the process's
//! size.
//!
//! Each program is a binary of its own under `src/bin`, or an example; each runs with a fixed seed
//! unless another is given, prints its counts at the end, and exits with a failure and a line that
//! repeats the run if it found something.

pub mod args;
pub mod counts;
pub mod crash;
pub mod process;
pub mod rng;
pub mod watchdog;
