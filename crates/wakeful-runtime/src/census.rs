//! What each task waits for, and what keeps it from going on.
//!
//! ```text
//!   runtimes, threads ──▶ Snapshot ──▶ verdict::find ──▶ Findings ──▶ text::dump
//! ```
//!
//! | file | contents |
//! |---|---|
//! | `snapshot.rs` | what a census found: plain data |
//! | `verdict.rs` | finds deadlocks and other reasons why actors cannot go on |
//! | `text.rs` | prints a snapshot and its verdicts |
//! | `frames.rs` | reads the user's own frames out of a backtrace |

#![cfg_attr(not(test), expect(dead_code, reason = "used by the console"))]

mod snapshot;
mod verdict;
