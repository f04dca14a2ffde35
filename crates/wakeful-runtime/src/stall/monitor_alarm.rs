//! The alarm that wakes a sleeping monitor.
//!
//! Workers unpark thousands of times a second, mostly for a few microseconds. Waking the monitor's
//! thread each time would cost more than the work they unpark for. Instead a worker that unparks
//! makes sure that an **alarm** is set. When it rings, the monitor looks at the workers that are
//! awake:
//!
//! ```text
//!   worker ─parked──┤unparks, sets it├──parked──┤unparks, postpones it├──parked──┤unparks, stuck …
//!   alarm                     └ ─ ─ ─ ─ ─ ─ ─ ─ ─ ─ ─ ─ ─┘└ ─ ─ ─ ─ ─ ─ ─ ─ ─ ─ ─ ─ ─ ─ ─ ─  rings
//! ```
//!
//! The monitor need not look at a worker that has been awake for less than the **grace** time. That
//! is at most one tick of the monitor.
//!
//! 1. While the monitor sleeps and a worker is awake, the alarm is set, or is ringing. When it is
//!    set, it rings after two grace times.
//! 2. Only a worker that has just unparked may postpone it, and only if no other worker is awake:
//!    no worker can be stuck then. It is not postponed if it has a grace time left or more, so
//!    that postponing it costs at most one call to the kernel per grace time.
//! 3. The last worker to park cancels it, unless the park before was short. On a virtual CPU an
//!    alarm that is set costs the kernel two calls to the host for each park, even if it never
//!    rings. Cancelling it and setting it again is one call to the kernel each.
//!
//! For the first rule, a worker that unparks marks itself as awake and then checks whether the
//! alarm is set. A worker that cancels the alarm marks it as not set and then checks whether all
//! workers are parked. At least one of them sees the other.
//!
//! Without a kernel timer the alarm rings as soon as it is set. The same applies once the kernel
//! refuses to set the timer, or to wait for it (a filter of system calls may be installed later). A
//! thread whose call fails wakes the monitor, and the timer is not used again.

use super::monitor_thread::{park, unpark};
use std::io;
use std::sync::OnceLock;
use std::time::{Duration, Instant};
use wakeful_base::alarm::Alarm;
use wakeful_base::sync::atomic::{AtomicBool, AtomicU64, Ordering::*};
use wakeful_base::sync::{Mutex, seq_cst_for_loom, thread};

pub(super) struct MonitorAlarm {
    /// The kernel timer, if there is one.
    timer: OnceLock<Alarm>,
    /// The kernel refuses to set the timer, or to wait for it, so it is not used any more.
    ///
    /// Written under the lock, or by the monitor, which then does not wait again before it has
    /// called `reset`, which takes the lock. So a thread that sets the alarm under the lock knows
    /// whether the monitor waits for the timer or is parked.
    is_timer_broken: AtomicBool,
    /// The grace time: the monitor looks at a worker one to two of them after it unparked.
    grace_ns: AtomicU64,
    epoch: Instant,
    /// When the alarm rings or rang, in nanoseconds since `epoch`; [`OFF`] if it is not set.
    rings_at_ns: AtomicU64,
    /// When a worker unparked last.
    last_unpark_ns: AtomicU64,
    /// Whether the last worker to park should cancel the alarm: its parks are long.
    should_cancel_on_park: AtomicBool,
    state: Mutex<AlarmState>,
}

const OFF: u64 = 0;

struct AlarmState {
    /// The monitor's thread, to be unparked if there is no kernel timer.
    waiter: Option<thread::Thread>,
    has_rung: bool,
    /// The alarm has rung and can be neither cancelled nor set again.
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

    /// Creates the kernel timer, if the kernel provides one. Called before the alarm is used.
    pub(super) fn prepare(&self) {
        if let Ok(timer) = Alarm::new() {
            let _first = self.timer.set(timer);
        }
    }

    /// Returns whether setting the alarm costs less than a look of the monitor.
    pub(super) fn is_cheap(&self) -> bool {
        self.timer().is_some()
    }

    fn timer(&self) -> Option<&Alarm> {
        self.timer.get().filter(|_| !self.is_timer_broken.load(Relaxed))
    }

    /// Notes that a worker has unparked at `now`, and is marked as awake, while the monitor sleeps.
    pub(super) fn note_unpark(&self, now: Instant, is_alone: impl FnOnce() -> bool) {
        self.note_unpark_at(self.since_epoch_ns(now), is_alone);
    }

    fn note_unpark_at(&self, now_ns: u64, is_alone: impl FnOnce() -> bool) {
        // A race with another worker is harmless here: the values only decide whether cancelling
        // the alarm is worth its cost.
        let since_ns = now_ns.saturating_sub(self.last_unpark_ns.load(Relaxed));
        self.last_unpark_ns.store(now_ns, Relaxed);
        self.should_cancel_on_park.store(since_ns > self.grace_ns() / 4, Relaxed);
        if !self.rings_in_window(now_ns) {
            self.set_or_postpone(now_ns, is_alone);
        }
    }

    /// Returns whether the alarm is set to ring one to two grace times from now.
    fn rings_in_window(&self, now_ns: u64) -> bool {
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
        // Another worker has set it meanwhile, or another worker is awake and may be stuck.
        if is_in_time && (self.rings_in_window(now_ns) || !is_alone()) {
            return;
        }
        self.set(&mut state, Duration::from_nanos(2 * self.grace_ns()));
        self.rings_at_ns.store(latest_ns, SeqCst);
    }

    /// Notes that a worker is about to park, and is marked as parked.
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

    /// Resets the alarm for a new wait of the monitor.
    ///
    /// From now on it rings one to two `grace` times after a worker unparked. With `ring_after` it
    /// is set at once, and rings after that time even if no worker unparks.
    pub(super) fn reset(&self, grace: Duration, ring_after: Option<Duration>) {
        let mut state = self.state.lock();
        // Bounded so that no sum of these times overflows.
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
        // An alarm that has rung still counts as set.
        let was_set = self.rings_at_ns.swap(rings_at_ns, SeqCst) != OFF;
        if was_set && rings_at_ns == OFF {
            self.cancel(&mut state);
        }
    }

    /// Waits until the alarm rings, or until the kernel timer fails. Called by the monitor.
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

    /// Rings the alarm. From then on it can be neither cancelled nor set again.
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

    /// Calls the kernel timer. False if there is none, or if the call fails.
    ///
    /// After a call that fails the timer is not used again. That call has also ended the monitor's
    /// wait.
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
        // Zero is reserved for `OFF`.
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
        assert_eq!(rings_at_ns(&alarm), 1 + 2 * GRACE_NS, "a grace time is left");
        alarm.note_unpark_at(2 + GRACE_NS, || false);
        assert_eq!(rings_at_ns(&alarm), 1 + 2 * GRACE_NS, "another worker may be stuck");
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
        assert!(!is_cancelled_at(1), "there was no long park before");
        assert!(is_cancelled_at(GRACE_NS));
        assert!(!is_cancelled_at(GRACE_NS * 5 / 4), "the park was short");
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
