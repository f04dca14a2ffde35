//! `LocalSet`, `LocalEnterGuard` and `spawn_local`.

#![cfg(all(feature = "rt", feature = "rt-multi-thread"))]

#[path = "local_set/driving.rs"]
mod driving;
#[path = "local_set/dropping.rs"]
mod dropping;
#[path = "local_set/nesting.rs"]
mod nesting;
#[path = "local_set/no_blocking.rs"]
mod no_blocking;
#[path = "local_set/panics.rs"]
mod panics;
#[path = "local_set/probes.rs"]
mod probes;
#[path = "local_set/spawning.rs"]
mod spawning;
#[path = "local_set/stress.rs"]
mod stress;
#[path = "local_set/waking.rs"]
mod waking;
