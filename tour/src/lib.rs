//! How an async runtime works, in steps that run.
//!
//! Each step lives in a folder of its own beside this one: its code, its tests, and a page that
//! explains it in English and in Chinese. A step gets a [`Timeline`], on which it records what was
//! polled, by which thread, and who woke whom. `cargo run -p tour` lists the steps; `README.md`
//! says how to walk through them.

#![cfg_attr(feature = "nightly", feature(coroutine_trait, coroutines))]

pub mod panics;
pub mod timeline;

#[path = "../01-state-machine/step.rs"]
mod state_machine;

#[path = "../02-generators/step.rs"]
mod generators;

#[path = "../03-delay/step.rs"]
mod delay;

#[path = "../04-mini-tokio-one/step.rs"]
mod mini_tokio_one;

#[path = "../05-wakers/step.rs"]
mod wakers;

#[path = "../06-block-on/step.rs"]
mod block_on;

#[path = "../07-mini-tokio-two/step.rs"]
mod mini_tokio_two;

#[path = "../08-worker-threads/step.rs"]
mod worker_threads;

#[path = "../09-epoll/step.rs"]
mod epoll;

#[path = "../10-notify/step.rs"]
mod notifying;

#[path = "../11-wakeful/step.rs"]
mod on_wakeful;

use timeline::Timeline;

/// One stop on the tour.
pub struct Step {
    /// The folder under `tour/` with its code and pages: `NN-name`.
    pub folder: &'static str,
    /// What it shows, in one line.
    pub about: &'static str,
    /// Runs it.
    pub run: fn(&Timeline),
}

impl Step {
    /// The number that the folder begins with.
    pub fn number(&self) -> u32 {
        let (number, _) = self.split();
        number.parse().expect("a step's folder begins with its number")
    }

    /// The folder without its number: what a visitor types.
    pub fn name(&self) -> &'static str {
        self.split().1
    }

    fn split(&self) -> (&'static str, &'static str) {
        self.folder.split_once('-').expect("a step's folder is called NN-name")
    }
}

/// The whole tour, in the order in which it is walked.
pub const STEPS: &[Step] = &[
    Step {
        folder: "01-state-machine",
        about: "a future is a state machine: an async fn beside the enum it stands for",
        run: state_machine::run,
    },
    Step {
        folder: "02-generators",
        about: "generators: stop, go on, borrow from yourself; await is poll, else yield",
        run: generators::run,
    },
    Step {
        folder: "03-delay",
        about: "a delay three ways: busy, a thread that wakes, the latest waker; and the trap between",
        run: delay::run,
    },
    Step {
        folder: "04-mini-tokio-one",
        about: "Mini Tokio one: a queue of futures, a waker that does nothing, and a hot CPU",
        run: mini_tokio_one::run,
    },
    Step {
        folder: "05-wakers",
        about: "wakers by hand: a vtable over an Arc, what happens if it counts wrong, and task ids",
        run: wakers::run,
    },
    Step {
        folder: "06-block-on",
        about: "block_on, which parks its thread, and a reactor thread that watches the clock",
        run: block_on::run,
    },
    Step {
        folder: "07-mini-tokio-two",
        about: "Mini Tokio two: woken tasks come through a channel, and the executor sleeps",
        run: mini_tokio_two::run,
    },
    Step {
        folder: "08-worker-threads",
        about: "worker threads on one queue; tasks as closures that take a waker, then as futures",
        run: worker_threads::run,
    },
    Step {
        folder: "09-epoll",
        about: "a reactor for sockets on epoll, and an echo server on it",
        run: epoll::run,
    },
    Step {
        folder: "10-notify",
        about: "Notify by hand, a delay built on it, and what its permit is for",
        run: notifying::run,
    },
    Step {
        folder: "11-wakeful",
        about: "the same program on Wakeful, and where in its code each piece of the tour lives",
        run: on_wakeful::run,
    },
];
