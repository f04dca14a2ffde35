use super::place::{drive_async, runtime};
use super::subject;
use super::subject::task::yield_now;
use super::subject::time::error::Elapsed;
use super::subject::time::{
    self, Instant, Interval, MissedTickBehavior, Sleep, Timeout, advance, interval_at, sleep,
    sleep_until, timeout, timeout_at,
};
use crate::events::{self, What};
use crate::lengths::{length, short_length};
use crate::log::Log;
use crate::pending_futures::{pick, take};
use crate::script::Script;
use crate::scripts::time::{Op, resets_sleeps};
use crate::wakers::WakerSlot;
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::task::Poll;

type Limited = Pin<Box<dyn Future<Output = Result<(), Elapsed>>>>;

struct Run {
    start: Instant,
    resets: bool,
    sleeps: Vec<(Pin<Box<Sleep>>, WakerSlot)>,
    intervals: Vec<(Interval, WakerSlot)>,
    timeouts: Vec<(Limited, WakerSlot)>,
    tasks: u32,
}

fn behavior(kind: u8) -> MissedTickBehavior {
    match kind % 3 {
        0 => MissedTickBehavior::Burst,
        1 => MissedTickBehavior::Delay,
        _ => MissedTickBehavior::Skip,
    }
}

/// Returns a time in the past: a picked length ago, or now if the clock cannot represent that.
fn ago(which: u8) -> Instant {
    let now = Instant::now();
    now.checked_sub(length(which)).unwrap_or(now)
}

/// Returns a time in the future: after a picked length, or now if the clock cannot represent that.
fn later(which: u8) -> Instant {
    let now = Instant::now();
    now.checked_add(length(which)).unwrap_or(now)
}

/// Is ready at the `polls`-th poll after the first. It never wakes its task.
async fn ready_after(polls: u8) {
    let mut left = polls % 8;
    poll_fn(|_| {
        let is_ready = left == 0;
        left = left.saturating_sub(1);
        if is_ready { Poll::Ready(()) } else { Poll::Pending }
    })
    .await;
}

async fn sleeps(task: u32, which: u8, times: u8) {
    events::happened(task, What::Started, 0);
    for _ in 0..1 + times % 4 {
        sleep(short_length(which)).await;
        events::happened(task, What::Continues, 0);
    }
}

async fn ticks(task: u32, period: u8, times: u8, kind: u8, busy: u8) {
    let start = Instant::now();
    let mut interval = time::interval(short_length(period));
    interval.set_missed_tick_behavior(behavior(kind));
    for _ in 0..1 + times % 4 {
        let tick = interval.tick().await;
        events::happened(task, What::Continues, tick.duration_since(start).as_nanos() as u64);
        if busy % 4 == 3 {
            sleep(short_length(busy)).await;
        }
    }
}

impl Run {
    fn since_start(&self, instant: Instant) -> (bool, std::time::Duration) {
        match instant.checked_duration_since(self.start) {
            Some(since) => (true, since),
            None => (false, self.start.duration_since(instant)),
        }
    }

    fn add_sleep(&mut self, sleep: Sleep, waker: Option<u8>, log: &mut Log) {
        // Tokio wakes a sleep once more if it has elapsed and is reset to a time in the past.
        self.sleeps.push((Box::pin(sleep), WakerSlot::counting_needed()));
        if let Some(waker) = waker {
            self.poll_sleep((self.sleeps.len() - 1) as u8, waker, log);
        }
    }

    fn poll_sleep(&mut self, which: u8, waker: u8, log: &mut Log) {
        let Some((sleep, waker_slot)) = pick(&mut self.sleeps, which) else { return };
        log.note("slept", &waker_slot.poll(waker, |cx| sleep.as_mut().poll(cx)));
    }

    fn sleep(&mut self, op: Op, log: &mut Log) {
        match op {
            Op::Sleep { length: which, waker } => {
                self.add_sleep(sleep(length(which)), Some(waker), log);
            }
            Op::SleepLater { length: which } => self.add_sleep(sleep(length(which)), None, log),
            Op::SleepUntil { length: which, waker } => {
                self.add_sleep(sleep_until(later(which)), Some(waker), log);
            }
            Op::SleepUntilPast { length: which, waker } => {
                self.add_sleep(sleep_until(ago(which)), Some(waker), log);
            }
            Op::Poll { which, waker } => self.poll_sleep(which, waker, log),
            Op::Reset { .. } | Op::ResetToPast { .. } if !self.resets => {}
            Op::Reset { which, length: to } => {
                let Some((sleep, _)) = pick(&mut self.sleeps, which) else { return };
                sleep.as_mut().reset(later(to));
            }
            Op::ResetToPast { which, length: to } => {
                let Some((sleep, _)) = pick(&mut self.sleeps, which) else { return };
                sleep.as_mut().reset(ago(to));
            }
            _ => log.note("dropped", &take(&mut self.sleeps, which_of(op)).is_some()),
        }
    }

    fn interval(&mut self, op: Op, log: &mut Log) {
        match op {
            Op::Interval { period, start } => {
                let interval = interval_at(later(start), length(period));
                return self.intervals.push((interval, WakerSlot::counting_needed()));
            }
            Op::IntervalInPast { period, start } => {
                let interval = interval_at(ago(start), length(period));
                return self.intervals.push((interval, WakerSlot::counting_needed()));
            }
            Op::DropInterval { which } => return drop(take(&mut self.intervals, which)),
            Op::ResetInterval { .. }
            | Op::ResetImmediately { .. }
            | Op::ResetAfter { .. }
            | Op::ResetAt { .. }
                if !self.resets =>
            {
                return;
            }
            _ => {}
        }
        let start = self.start;
        let Some((interval, waker_slot)) = pick(&mut self.intervals, which_of(op)) else { return };
        match op {
            Op::Behavior { kind, .. } => interval.set_missed_tick_behavior(behavior(kind)),
            Op::Tick { waker, .. } => {
                let tick = waker_slot.poll(waker, |cx| interval.poll_tick(cx));
                let since = |tick: Instant| (tick - start, start - tick);
                log.note("tick", &tick.map(since));
            }
            Op::ResetInterval { .. } => interval.reset(),
            Op::ResetImmediately { .. } => interval.reset_immediately(),
            Op::ResetAfter { length: after, .. } => interval.reset_after(length(after)),
            Op::ResetAt { length: at, .. } => interval.reset_at(later(at)),
            _ => {}
        }
    }

    fn timeout(&mut self, op: Op, log: &mut Log) {
        let limited: Limited = match op {
            Op::Timeout { length: which, polls, .. } => {
                let limited: Timeout<_> = timeout(length(which), ready_after(polls));
                Box::pin(limited)
            }
            Op::TimeoutAtPast { length, polls, .. } => {
                Box::pin(timeout_at(ago(length), ready_after(polls)))
            }
            Op::PollTimeout { which, waker } => {
                let Some((limited, waker_slot)) = pick(&mut self.timeouts, which) else { return };
                let polled = waker_slot
                    .poll(waker, |cx| limited.as_mut().poll(cx))
                    .map(|output| output.is_ok());
                log.note("limited", &polled);
                if polled.is_ready() {
                    drop(take(&mut self.timeouts, which));
                }
                return;
            }
            _ => return log.note("dropped", &take(&mut self.timeouts, which_of(op)).is_some()),
        };
        self.timeouts.push((limited, WakerSlot::counting_needed()));
        let (Op::Timeout { waker, .. } | Op::TimeoutAtPast { waker, .. }) = op else { return };
        let which = (self.timeouts.len() - 1) as u8;
        self.timeout(Op::PollTimeout { which, waker }, log);
    }

    async fn step(&mut self, op: Op, log: &mut Log) {
        match op {
            Op::Turn => yield_now().await,
            Op::SpendBudget { .. } => {}
            Op::Advance { length } => advance(short_length(length)).await,
            Op::Wait { length } => sleep(short_length(length)).await,
            Op::Spawn { length, times } => {
                self.tasks += 1;
                subject::task::spawn(sleeps(self.tasks, length, times));
            }
            Op::SpawnTicks { period, times, kind, busy } => {
                self.tasks += 1;
                subject::task::spawn(ticks(self.tasks, period, times, kind, busy));
            }
            Op::Sleep { .. }
            | Op::SleepLater { .. }
            | Op::SleepUntil { .. }
            | Op::SleepUntilPast { .. }
            | Op::Poll { .. }
            | Op::Reset { .. }
            | Op::ResetToPast { .. }
            | Op::Drop { .. } => self.sleep(op, log),
            Op::Timeout { .. }
            | Op::TimeoutAtPast { .. }
            | Op::PollTimeout { .. }
            | Op::DropTimeout { .. } => self.timeout(op, log),
            _ => self.interval(op, log),
        }
    }

    /// Lets all tasks run that can. Neither library promises whether this task or another one runs
    /// first.
    async fn settle(&self) {
        if self.tasks > 0 {
            for _ in 0..4 {
                yield_now().await;
            }
        }
    }

    fn note_state(&self, log: &mut Log) {
        log.note("time", &self.since_start(Instant::now()));
        let mut events = events::take();
        events.sort_unstable();
        log.note("tasks", &events);
        for (sleep, _) in &self.sleeps {
            log.note("sleep", &(sleep.is_elapsed(), self.since_start(sleep.deadline())));
        }
        for (interval, _) in &self.intervals {
            log.note("interval", &interval.period());
        }
    }
}

/// Returns the operand that picks a sleep, an interval or a timeout.
fn which_of(op: Op) -> u8 {
    match op {
        Op::Poll { which, .. }
        | Op::Reset { which, .. }
        | Op::ResetToPast { which, .. }
        | Op::Drop { which }
        | Op::Behavior { which, .. }
        | Op::Tick { which, .. }
        | Op::ResetInterval { which }
        | Op::ResetImmediately { which }
        | Op::ResetAfter { which, .. }
        | Op::ResetAt { which, .. }
        | Op::DropInterval { which }
        | Op::PollTimeout { which, .. }
        | Op::DropTimeout { which } => which,
        _ => 0,
    }
}

pub fn run(script: &Script<Op>, log: &mut Log) {
    runtime().block_on(async {
        let start = Instant::now();
        let (sleeps, intervals, timeouts) = (Vec::new(), Vec::new(), Vec::new());
        let resets = resets_sleeps(script.size);
        let mut run = Run { start, resets, sleeps, intervals, timeouts, tasks: 0 };
        let step = async |op, log: &mut Log| {
            run.step(op, log).await;
            run.settle().await;
            run.note_state(log);
        };
        drive_async(script, log, step).await;
    });
    let mut left = events::take();
    left.sort_unstable();
    log.note("tasks at the end", &left);
}
