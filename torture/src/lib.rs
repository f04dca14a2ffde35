//! Shared parts of the torture programs: command-line options, random numbers, a watchdog,
//! counters, crash reports, and the size of the process.
//!
//! Each program is a binary under `src/bin` or an example:
//!
//! | program | what it does |
//! |---|---|
//! | `hostile` | runs random operations on primitives with wakers, values and hooks that panic |
//! | `hostile_alloc` | runs tasks under an allocator that calls the runtime |
//! | `faults` | runs a workload while calls fail, limits are hit, or descriptors are closed |
//! | `leaks` | checks that descriptors, threads and memory are released |
//! | `soak` (example) | runs sockets, channels, locks, files and timers together for a long time |
//!
//! Each program uses a fixed seed unless it gets another one, and prints its counts at the end. If
//! it finds something, it fails and prints the command that repeats the run.

pub mod args;
pub mod counts;
pub mod crash;
pub mod process;
pub mod rng;
pub mod watchdog;
