//! Programs that look as if they hang, and go on once their standard input ends.
//!
//! In each, the task that seems to be stuck can be set going by a task that waits for the input. It
//! has got a guard, a future or a handle that was made elsewhere.

use std::io::{Read, stdin};

pub mod aborted_join;
pub mod moved_future;
pub mod moved_grant;
pub mod moved_guard;
pub mod moved_initializer;
pub mod moved_leaked_guard;
pub mod moved_read_guard;
pub mod moved_write_guard;

/// Waits until the standard input ends.
async fn end_of_input() {
    let read = tokio::task::spawn_blocking(|| stdin().read_to_end(&mut Vec::new()));
    read.await.unwrap().unwrap();
}
