//! How an async runtime works, in steps that run.
//!
//! Each step lives in a folder of its own beside this one: its code, its tests, and a page that
//! explains it in English and in Chinese. A step gets a [`Timeline`], on which it records what was
//! polled, on which thread, and which thread woke which task. `cargo run -p tour` lists the steps;
//! `README.md` says how to walk through them.
//!
//! 异步运行时是怎么工作的：一步一步，每一步都能运行。各步各有一个目录，里面是代码、测试和中英文讲
//! 解；运行时把“谁被轮询、在哪个线程上、被谁唤醒”记在一条时间线上。怎么走这趟导览，见 `README.zh-CN.md`。

#![cfg_attr(feature = "nightly", feature(coroutine_trait, coroutines))]

pub mod lang;
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

#[cfg_attr(target_os = "linux", path = "../09-epoll/step.rs")]
#[cfg_attr(not(target_os = "linux"), path = "../09-epoll/elsewhere.rs")]
mod epoll;

/// What other systems get in place of step 9, here to be tested.
#[cfg(all(test, target_os = "linux"))]
#[path = "../09-epoll/elsewhere.rs"]
mod epoll_elsewhere;

#[path = "../10-notify/step.rs"]
mod notifying;

#[path = "../11-wakeful/step.rs"]
mod on_wakeful;

use lang::Text;
use timeline::Timeline;

/// One stop on the tour.
pub struct Step {
    /// The folder under `tour/` with its code and pages: `NN-name`.
    pub folder: &'static str,
    /// What it shows, in one line.
    pub about: Text,
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
        about: Text {
            en: "a future is a state machine: an async fn beside the enum it stands for",
            zh: "future 就是状态机：一个 async fn，和它对应的 enum",
        },
        run: state_machine::run,
    },
    Step {
        folder: "02-generators",
        about: Text {
            en: "generators: stop, go on, borrow from yourself; await is poll, else yield",
            zh: "生成器：停下、继续、借用自己；await 就是先 poll，不行就 yield",
        },
        run: generators::run,
    },
    Step {
        folder: "03-delay",
        about: Text {
            en: "a delay three ways: busy, a thread that wakes, the latest waker; and the trap between",
            zh: "delay 的三种写法：忙等、派一个线程来唤醒、只认最新的 waker；以及其中的陷阱",
        },
        run: delay::run,
    },
    Step {
        folder: "04-mini-tokio-one",
        about: Text {
            en: "Mini Tokio one: a queue of futures, a waker that does nothing, and a hot CPU",
            zh: "Mini Tokio 第一版：一个 future 队列，一个什么也不做的 waker，一个发烫的 CPU",
        },
        run: mini_tokio_one::run,
    },
    Step {
        folder: "05-wakers",
        about: Text {
            en: "wakers by hand: a vtable over an Arc, what happens if it counts wrong, and task ids",
            zh: "手写 waker：建立在 Arc 上的函数表，数错引用会怎样，以及任务编号",
        },
        run: wakers::run,
    },
    Step {
        folder: "06-block-on",
        about: Text {
            en: "block_on, which parks its thread, and a reactor thread that watches the clock",
            zh: "block_on：会 park 线程的执行器；以及盯着时钟的 reactor 线程",
        },
        run: block_on::run,
    },
    Step {
        folder: "07-mini-tokio-two",
        about: Text {
            en: "Mini Tokio two: woken tasks come through a channel, and the executor sleeps",
            zh: "Mini Tokio 第二版：被唤醒的任务从通道里来，执行器会睡觉",
        },
        run: mini_tokio_two::run,
    },
    Step {
        folder: "08-worker-threads",
        about: Text {
            en: "worker threads on one queue; tasks as closures that take a waker, then as futures",
            zh: "一个队列，多个 worker 线程；任务先是接收 waker 的闭包，再是 future",
        },
        run: worker_threads::run,
    },
    Step {
        folder: "09-epoll",
        about: Text {
            en: "a reactor for sockets on epoll, and an echo server on it",
            zh: "epoll 上的套接字 reactor，以及跑在上面的回显服务器",
        },
        run: epoll::run,
    },
    Step {
        folder: "10-notify",
        about: Text {
            en: "Notify by hand, a delay built on it, and what its permit is for",
            zh: "手写 Notify，用它做成的 delay，以及许可的用处",
        },
        run: notifying::run,
    },
    Step {
        folder: "11-wakeful",
        about: Text {
            en: "the same program on Wakeful, and where in its code each piece of the tour lives",
            zh: "同一个程序跑在 Wakeful 上，以及导览的每个零件在它的代码里住在哪里",
        },
        run: on_wakeful::run,
    },
];
