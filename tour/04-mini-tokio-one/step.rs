//! Mini Tokio, the first: an executor that polls every task, all the time.
//!
//! It is [`MiniTokio`]: a queue of futures, and a waker that does nothing. It works, for any future
//! whatsoever, and it never sleeps. The second scene measures what that costs.
//!
//! Mini Tokio 第一版：不停地问每一个任务的执行器。[`MiniTokio`] 就是一个 future 队列，加一个什么也
//! 不做的 waker。什么样的 future 它都能跑，却从不睡觉；第二个场景量一量这要花多少。

use std::pin::Pin;
use std::task::{Context, Poll};
use std::thread;
use std::time::{Duration, Instant};

use crate::timeline::Timeline;
use mini_tokio::{MiniTokio, Tally};

mod cpu;
mod mini_tokio;
#[cfg(test)]
mod solutions;
#[cfg(test)]
mod tests;

/// Ready when the time has come. It never calls a waker, which breaks the contract of step 3; but
/// this executor would not listen anyway.
struct Delay {
    due: Instant,
}

impl Delay {
    fn new(after: Duration) -> Delay {
        Delay { due: Instant::now() + after }
    }
}

impl Future for Delay {
    type Output = ();

    fn poll(self: Pin<&mut Self>, _cx: &mut Context<'_>) -> Poll<()> {
        if Instant::now() >= self.due { Poll::Ready(()) } else { Poll::Pending }
    }
}

/// Two tasks that are done after one and two milliseconds, each poll on the timeline.
fn two_tasks(timeline: &Timeline) {
    let mut tokio = MiniTokio::new();
    for (name, after_ms) in [("tea", 2), ("toast", 1)] {
        let delay = Delay::new(Duration::from_millis(after_ms));
        tokio.spawn(timeline.trace(name, delay));
    }
    tokio.run();
}

/// What it takes to wait.
struct Cost {
    wall: Duration,
    /// Of this thread.
    cpu: Duration,
}

fn cost_of(wait: impl FnOnce()) -> Cost {
    let (start, cpu_start) = (Instant::now(), cpu::thread_time());
    wait();
    Cost { wall: start.elapsed(), cpu: cpu::thread_time() - cpu_start }
}

/// Waits for the same on Mini Tokio and in a thread that sleeps.
fn burn(timeline: &Timeline) {
    const WAIT: Duration = Duration::from_millis(50);

    let mut tally = Tally::default();
    let busy = cost_of(|| {
        let mut tokio = MiniTokio::new();
        for tenths in [4, 10, 7] {
            tokio.spawn(Delay::new(WAIT * tenths / 10));
        }
        tally = tokio.run();
    });
    let Tally { polls, done } = tally;
    timeline.note("mini tokio", format!("{polls} polls, {done} of them of any use"));
    timeline.note("mini tokio", describe(&busy));

    let asleep = cost_of(|| thread::sleep(WAIT));
    timeline.note("sleep", describe(&asleep));
}

fn describe(cost: &Cost) -> String {
    let ms = |time: Duration| time.as_secs_f64() * 1e3;
    let share = 100.0 * cost.cpu.as_secs_f64() / cost.wall.as_secs_f64();
    format!("waited {:.1} ms, on the CPU {:.1} ms ({share:.0} %)", ms(cost.wall), ms(cost.cpu))
}

/// Runs the step.
pub fn run(timeline: &Timeline) {
    timeline.scene("Two tasks, polled in turn until they are done");
    two_tasks(timeline);
    timeline.scene("What it costs to wait for three delays, the longest of them 50 ms");
    burn(timeline);
}
