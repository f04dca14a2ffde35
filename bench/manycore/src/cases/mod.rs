//! The cases. `rt` is the runtime: Tokio or Wakeful.
//!
//! | file | cases |
//! |---|---|
//! | `tasks.rs` | tasks that start tasks |
//! | `polls.rs` | tasks that yield |
//! | `messages.rs` | channels |
//! | `locks.rs` | locks and semaphores |
//! | `timers.rs` | sleeps, timeouts, and what is started at intervals |
//! | `requests.rs` | requests at a steady rate |
//! | `sockets.rs` | sockets |
//!
//! Sizes grow with the number of workers, so that the time of a case stays about the same on a
//! runtime that scales perfectly.

use std::future::Future;
use std::pin::Pin;

use rt::task::JoinHandle;

mod locks;
mod messages;
mod polls;
mod requests;
mod sockets;
mod tasks;
mod timers;

/// What a round of a case did, apart from its time.
pub struct Outcome {
    pub operations: u64,
    /// The case's third figure, in microseconds; 0 if it has none.
    pub third_us: f64,
}

/// A case, which is run with a number of workers.
pub struct Case {
    pub name: &'static str,
    /// What the third figure is; empty if there is none.
    pub third: &'static str,
    pub about: &'static str,
    pub run: fn(workers: u64) -> Body,
}

/// The body of a round, which runs as a task.
pub type Body = Pin<Box<dyn Future<Output = Outcome> + Send>>;

macro_rules! case {
    ($file:ident::$function:ident, $name:literal, $third:literal, $about:literal) => {
        Case {
            name: $name,
            third: $third,
            about: $about,
            run: |workers| Box::pin($file::$function(workers)),
        }
    };
}

pub const CASES: &[Case] = &[
    case!(tasks::spawn, "spawn", "", "one task spawns 4,000 empty tasks, then joins them"),
    case!(
        tasks::spawners,
        "spawners",
        "",
        "2 tasks per worker spawn and join 10 short tasks at a time"
    ),
    case!(messages::pingpong, "pingpong", "", "4 pairs of tasks per worker exchange messages"),
    case!(polls::short, "yield", "", "8 tasks per worker yield after 200 ns of work"),
    case!(polls::long, "compute20", "", "4 tasks per worker yield after 20 µs of work"),
    case!(
        tasks::fork_join,
        "forkjoin",
        "",
        "one task spawns 2 tasks of 10 µs per worker, then joins them"
    ),
    case!(
        timers::bursts,
        "bursts",
        "p95 until all are done",
        "every 2 ms, 2 tasks of 50 µs per worker"
    ),
    case!(timers::sleeps, "timers", "p99 lateness", "2,000 tasks sleep for 1 to 21 ms"),
    case!(timers::timeouts, "timeouts", "", "4 tasks per worker set and cancel timeouts"),
    case!(
        sockets::streams,
        "streams",
        "",
        "4 pairs of sockets per worker, 3 µs of work on either side"
    ),
    case!(
        sockets::paced,
        "paced",
        "p99 latency",
        "a thread writes to 4 sockets per worker in turn; 20 % load"
    ),
    case!(locks::mutex, "locks", "", "4 tasks per worker contend for one mutex"),
    case!(messages::fan_in, "fanin", "", "2 tasks per worker send to one receiver"),
    case!(tasks::remote, "remote", "", "a thread outside of the runtime spawns 2,000 short tasks"),
    case!(
        requests::scatter,
        "scatter",
        "p99 latency",
        "requests at 25 % load, each of which joins 4 tasks of 20 µs"
    ),
    case!(
        polls::mixed,
        "mixed",
        "until the last has ended",
        "after many short polls, 2 tasks of 300 µs per worker"
    ),
    case!(requests::idle, "idle", "p99 latency", "one message every 200 µs, 2 µs of work each"),
    case!(tasks::chain, "chain", "", "each of 2,000 tasks spawns the next"),
    case!(
        messages::broadcast,
        "broadcast",
        "p95 until all have it",
        "one sender, 2 receivers per worker"
    ),
    case!(locks::semaphore, "semaphore", "", "4 tasks per worker share 1 permit per worker"),
    case!(
        sockets::accept,
        "accept",
        "p99 latency",
        "2 clients per worker open a connection per request; a task for each"
    ),
    case!(tasks::blocking, "blocking", "", "one task per worker awaits blocking calls of 5 µs"),
];

/// Waits for all tasks, and returns their results.
async fn join_all<T>(tasks: Vec<JoinHandle<T>>) -> Vec<T> {
    let mut results = Vec::with_capacity(tasks.len());
    for task in tasks {
        results.push(task.await.expect("the task does not panic"));
    }
    results
}

/// Returns the value below which `share` of the values are.
fn percentile(mut values: Vec<f64>, share: f64) -> f64 {
    values.sort_by(f64::total_cmp);
    values[(values.len() as f64 * share) as usize]
}

fn no_third(operations: u64) -> Outcome {
    Outcome { operations, third_us: 0.0 }
}
