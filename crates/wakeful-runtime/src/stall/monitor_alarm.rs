//! When a monitor that rests looks again.
//!
//! Those it watches wake up thousands of times a second, mostly for a few microseconds, and to wake a thread for each would
//! cost more than what they wake up for. So who wakes up only sees to it that an **alarm** is set, and whoever is awake by the time
//! it rings is looked at:
//!
//! ```text
//!   worker   ──sleeps──┤wakes up, sets it├──sleeps──┤wakes up, puts it off├──sleeps──┤wakes up, is stuck …
//!   alarm              └─ ─ ─ ─ ─ ─ ─ ─ ─ ─ ─ ─ ─ ─ ┘└ ─ ─ ─ ─ ─ ─ ─ ─ ─ ─ ─ ─ ─ ─ ─ ─ ─ ─ ─ ─ ─ rings
//! ```
//!
//! 1. While the monitor rests and somebody is awake, the alarm is set, or rings just now. Set anew, it rings in two spans.
//! 2. It is put off only by one that has just woken up, and is the only one awake: nobody can be stuck, then. Even so it stays as it is while it
//!    has more than a grace to go, so that it costs a call to the kernel once in a grace.
//! 3. The last to fall asleep takes it back, if it was not for a moment that they slept before. An alarm that is set costs the kernel two calls to the host
//!    for each sleep of a virtual CPU, even if it never rings; to take it back and set it again is one call to the kernel each.
//!
//! For the first, whoever wakes up says so and then looks whether the alarm is set; who takes it back first says so and then
//! looks whether all are asleep. One of them sees the other.
//!
//! Without an alarm of the kernel's it rings as soon as it is set. So it does once the kernel refuses to set one it gave, or to wait for it: who
//! finds that out wakes up who waits, and from then on it is as if there were none.

use super::monitor_thread::{park, unpark};
use std::io;
use std::sync::OnceLock;
use std::time::{Duration, Instant};
use wakeful_base::alarm::Alarm;
use wakeful_base::sync::atomic::{AtomicBool, AtomicU64, Ordering::*};
use wakeful_base::sync::{Mutex, seq_cst_for_loom, thread};

pub(super) struct MonitorAlarm {
    /// The kernel's, where there is one.
    timer: OnceLock<Alarm>,
    /// The kernel refuses to set it, or to wait for it: it is used no more. Written under the lock; or by the monitor, which then does not wait before
    /// it begins anew, under the lock. So who sets what the monitor waits for knows.
    is_timer_broken: AtomicBool,
    /// How long whoever wakes up is left in peace, at least; twice that at most.
    grace_ns: AtomicU64,
    epoch: Instant,
    /// When it rings or rang, since `epoch`; [`OFF`] if it is not set.
    rings_at_ns: AtomicU64,
    /// When somebody woke up last.
    last_unpark_ns: AtomicU64,
    /// Whether to take it back when all have fallen asleep.
    should_cancel_on_park: AtomicBool,
    state: Mutex<AlarmState>,
}

const OFF: u64 = 0;

struct AlarmState {
    /// Who waits for it, where the kernel does not know.
    waiter: Option<thread::Thread>,
    has_rung: bool,
    /// It has been rung for good.
    is_permanent: bool,
}

impl MonitorAlarm {
    pub(super) fn new() -> MonitorAlarm {
        MonitorAlarm {
            timer: OnceLock::new(),
            is_timer_broken: AtomicBool::new(false),
            grace_ns: AtomicU64::new(1),
            epoch: Instant::now(),
            rings_at_ns: AtomicU64::new(OFF),
            last_unpark_ns: AtomicU64::new(OFF),
            should_cancel_on_park: AtomicBool::new(false),
            state: Mutex::new(AlarmState { waiter: None, has_rung: false, is_permanent: false }),
        }
    }

    /// Gets one of the kernel's, if it has one to give. Before anybody uses it.
    pub(super) fn prepare(&self) {
        if let Ok(timer) = Alarm::new() {
            let _first = self.timer.set(timer);
        }
    }

    /// Whether to set it costs less than to look.
    pub(super) fn is_cheap(&self) -> bool {
        self.timer().is_some()
    }

    fn timer(&self) -> Option<&Alarm> {
        self.timer.get().filter(|_| !self.is_timer_broken.load(Relaxed))
    }

    /// For who has woken up `now`, as others can see, while the monitor rests.
    pub(super) fn note_unpark(&self, now: Instant, is_alone: impl FnOnce() -> bool) {
        self.note_unpark_at(self.since_epoch_ns(now), is_alone);
    }

    fn note_unpark_at(&self, now_ns: u64, is_alone: impl FnOnce() -> bool) {
        // Two at once do no harm.
        let since_ns = now_ns.saturating_sub(self.last_unpark_ns.load(Relaxed));
        self.last_unpark_ns.store(now_ns, Relaxed);
        self.should_cancel_on_park.store(since_ns > self.grace_ns() / 4, Relaxed);
        if !self.is_set_well(now_ns) {
            self.set_or_postpone(now_ns, is_alone);
        }
    }

    fn is_set_well(&self, now_ns: u64) -> bool {
        let grace_ns = self.grace_ns();
        (now_ns + grace_ns..=now_ns + 2 * grace_ns).contains(&self.rings_at_ns.load(SeqCst))
    }

    fn grace_ns(&self) -> u64 {
        self.grace_ns.load(Relaxed)
    }

    #[cold]
    fn set_or_postpone(&self, now_ns: u64, is_alone: impl FnOnce() -> bool) {
        let mut state = self.state.lock();
        let (rings_at_ns, latest_ns) =
            (self.rings_at_ns.load(SeqCst), now_ns + 2 * self.grace_ns());
        let is_in_time = rings_at_ns != OFF && rings_at_ns <= latest_ns;
        // Somebody else did it meanwhile, or might be stuck.
        if is_in_time && (self.is_set_well(now_ns) || !is_alone()) {
            return;
        }
        self.set(&mut state, Duration::from_nanos(2 * self.grace_ns()));
        self.rings_at_ns.store(latest_ns, SeqCst);
    }

    /// For who has fallen asleep, as others can see.
    #[inline]
    pub(super) fn note_park(&self, are_all_parked: impl FnOnce() -> bool) {
        if self.should_cancel_on_park.load(Relaxed) && self.rings_at_ns.load(Relaxed) != OFF {
            self.cancel_if_all_parked(are_all_parked);
        }
    }

    #[cold]
    fn cancel_if_all_parked(&self, are_all_parked: impl FnOnce() -> bool) {
        let mut state = self.state.lock();
        let rings_at_ns = self.rings_at_ns.swap(OFF, SeqCst);
        seq_cst_for_loom();
        if rings_at_ns != OFF && are_all_parked() {
            self.cancel(&mut state);
        } else {
            self.rings_at_ns.store(rings_at_ns, SeqCst);
        }
    }

    /// For the monitor: what was set before counts no more. Whoever wakes up is left in peace for `grace`, or twice that; it rings in
    /// so long in any case, if that is given.
    pub(super) fn reset(&self, grace: Duration, ring_after: Option<Duration>) {
        let mut state = self.state.lock();
        // So that the sum of all times fits.
        let grace_ns = u64::try_from(grace.as_nanos()).unwrap_or(u64::MAX).clamp(1, u64::MAX / 8);
        self.grace_ns.store(grace_ns, Relaxed);
        state.waiter = Some(thread::current());
        let rings_at_ns = match ring_after {
            None => OFF,
            Some(ring_after) => {
                self.set(&mut state, ring_after);
                let ring_after_ns = u64::try_from(ring_after.as_nanos()).unwrap_or(u64::MAX);
                self.since_epoch_ns(Instant::now()).saturating_add(ring_after_ns)
            }
        };
        // One that rang is one that was set.
        let was_set = self.rings_at_ns.swap(rings_at_ns, SeqCst) != OFF;
        if was_set && rings_at_ns == OFF {
            self.cancel(&mut state);
        }
    }

    /// For the monitor: waits until it rings, or has to be done without the kernel's from now on.
    pub(super) fn wait(&self) {
        if let Some(timer) = self.timer() {
            if timer.wait().is_err() {
                self.is_timer_broken.store(true, Relaxed);
            }
            return;
        }
        while !std::mem::take(&mut self.state.lock().has_rung) {
            park();
        }
    }

    /// Rings now, and nobody can take that back.
    pub(super) fn ring_permanently(&self) {
        let mut state = self.state.lock();
        self.set(&mut state, Duration::ZERO);
        state.is_permanent = true;
    }

    fn set(&self, state: &mut AlarmState, left: Duration) {
        if state.is_permanent {
            return;
        }
        if !self.call_kernel(|timer| timer.set(left)) {
            state.has_rung = true;
            if let Some(waiter) = &state.waiter {
                unpark(waiter);
            }
        }
    }

    fn cancel(&self, state: &mut AlarmState) {
        if state.is_permanent {
            return;
        }
        if !self.call_kernel(Alarm::cancel) {
            state.has_rung = false;
        }
    }

    /// Whether the kernel has done that. It is asked no more once it refuses, which has ended the monitor's wait.
    fn call_kernel(&self, call: impl FnOnce(&Alarm) -> io::Result<()>) -> bool {
        let Some(timer) = self.timer() else { return false };
        let is_done = call(timer).is_ok();
        if !is_done {
            self.is_timer_broken.store(true, Relaxed);
        }
        is_done
    }

    #[cfg(not(wakeful_loom))]
    fn since_epoch_ns(&self, now: Instant) -> u64 {
        let since = now.saturating_duration_since(self.epoch);
        // From one on, since zero is no time.
        u64::try_from(since.as_nanos()).unwrap_or(u64::MAX).clamp(1, u64::MAX / 2)
    }

    // Loom has no time.
    #[cfg(wakeful_loom)]
    fn since_epoch_ns(&self, _: Instant) -> u64 {
        1
    }
}

#[cfg(all(test, not(wakeful_loom)))]
mod tests {
    use super::*;

    const GRACE: Duration = Duration::from_millis(20);

    const GRACE_NS: u64 = GRACE.as_nanos() as u64;

    fn alarm() -> MonitorAlarm {
        let alarm = MonitorAlarm::new();
        alarm.prepare();
        alarm.reset(GRACE, None);
        alarm
    }

    fn without_timer() -> MonitorAlarm {
        let alarm = MonitorAlarm::new();
        alarm.reset(GRACE, None);
        alarm
    }

    fn rings_at_ns(alarm: &MonitorAlarm) -> u64 {
        alarm.rings_at_ns.load(SeqCst)
    }

    #[test]
    fn rings_if_a_worker_stays_awake() {
        for alarm in [alarm(), without_timer()] {
            alarm.note_unpark(Instant::now(), || true);
            alarm.wait();
        }
    }

    #[test]
    fn is_postponed_only_by_a_lone_worker_and_only_if_due_soon() {
        let alarm = alarm();
        alarm.note_unpark_at(1, || true);
        assert_eq!(rings_at_ns(&alarm), 1 + 2 * GRACE_NS);
        alarm.note_unpark_at(1 + GRACE_NS, || true);
        assert_eq!(rings_at_ns(&alarm), 1 + 2 * GRACE_NS, "it is a long time yet");
        alarm.note_unpark_at(2 + GRACE_NS, || false);
        assert_eq!(rings_at_ns(&alarm), 1 + 2 * GRACE_NS, "somebody else may be stuck");
        alarm.note_unpark_at(2 + GRACE_NS, || true);
        assert_eq!(rings_at_ns(&alarm), 2 + 3 * GRACE_NS);
    }

    #[test]
    fn is_brought_forward_if_too_late() {
        let alarm = alarm();
        alarm.reset(GRACE, Some(Duration::from_secs(600)));
        alarm.note_unpark(Instant::now(), || false);
        alarm.wait();
    }

    #[test]
    fn is_cancelled_where_parks_are_long() {
        let alarm = alarm();
        let is_cancelled_at = |now_ns| {
            alarm.note_unpark_at(now_ns, || true);
            alarm.note_park(|| true);
            rings_at_ns(&alarm) == OFF
        };
        assert!(!is_cancelled_at(1), "nobody has slept yet");
        assert!(is_cancelled_at(GRACE_NS));
        assert!(!is_cancelled_at(GRACE_NS * 5 / 4), "a short one");
        assert!(is_cancelled_at(5 * GRACE_NS));
    }

    #[test]
    fn is_not_cancelled_while_others_are_awake() {
        let alarm = alarm();
        alarm.should_cancel_on_park.store(true, SeqCst);
        alarm.note_unpark(Instant::now(), || true);
        let set = rings_at_ns(&alarm);
        alarm.note_park(|| false);
        assert_eq!(rings_at_ns(&alarm), set);
        alarm.wait();
    }

    #[test]
    fn a_permanent_ring_is_not_cancelled() {
        for alarm in [alarm(), without_timer()] {
            alarm.should_cancel_on_park.store(true, SeqCst);
            alarm.note_unpark(Instant::now(), || true);
            alarm.ring_permanently();
            alarm.note_park(|| true);
            alarm.reset(GRACE, None);
            alarm.wait();
        }
    }

    #[test]
    fn any_grace_time_is_accepted() {
        for grace in [Duration::ZERO, Duration::MAX] {
            let alarm = MonitorAlarm::new();
            alarm.prepare();
            alarm.reset(grace, Some(grace));
            alarm.note_unpark(Instant::now(), || true);
        }
    }
}
