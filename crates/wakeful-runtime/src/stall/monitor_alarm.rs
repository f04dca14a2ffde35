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
//!    has more than a span to go, so that it costs a call to the kernel once in a span.
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
    is_refused: AtomicBool,
    /// How long whoever wakes up is left in peace, at least; twice that at most.
    span_ns: AtomicU64,
    begun: Instant,
    /// When it rings or rang, since `begun`; [`OFF`] if it is not set.
    rings_ns: AtomicU64,
    /// When somebody woke up last.
    woken_ns: AtomicU64,
    /// Whether to take it back when all have fallen asleep.
    takes_back: AtomicBool,
    setting: Mutex<Setting>,
}

const OFF: u64 = 0;

struct Setting {
    /// Who waits for it, where the kernel does not know.
    waiting: Option<thread::Thread>,
    has_rung: bool,
    /// It has been rung for good.
    is_over: bool,
}

impl MonitorAlarm {
    pub(super) fn new() -> MonitorAlarm {
        MonitorAlarm {
            timer: OnceLock::new(),
            is_refused: AtomicBool::new(false),
            span_ns: AtomicU64::new(1),
            begun: Instant::now(),
            rings_ns: AtomicU64::new(OFF),
            woken_ns: AtomicU64::new(OFF),
            takes_back: AtomicBool::new(false),
            setting: Mutex::new(Setting { waiting: None, has_rung: false, is_over: false }),
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
        self.timer.get().filter(|_| !self.is_refused.load(Relaxed))
    }

    /// For who has woken up `now`, as others can see, while the monitor rests.
    pub(super) fn note_awake(&self, now: Instant, is_alone: impl FnOnce() -> bool) {
        self.note_awake_at(self.since_begun_ns(now), is_alone);
    }

    fn note_awake_at(&self, now_ns: u64, is_alone: impl FnOnce() -> bool) {
        // Two at once do no harm.
        let since_ns = now_ns.saturating_sub(self.woken_ns.load(Relaxed));
        self.woken_ns.store(now_ns, Relaxed);
        self.takes_back.store(since_ns > self.span_ns() / 4, Relaxed);
        if !self.is_well_set(now_ns) {
            self.set_anew(now_ns, is_alone);
        }
    }

    fn is_well_set(&self, now_ns: u64) -> bool {
        let span_ns = self.span_ns();
        (now_ns + span_ns..=now_ns + 2 * span_ns).contains(&self.rings_ns.load(SeqCst))
    }

    fn span_ns(&self) -> u64 {
        self.span_ns.load(Relaxed)
    }

    #[cold]
    fn set_anew(&self, now_ns: u64, is_alone: impl FnOnce() -> bool) {
        let mut setting = self.setting.lock();
        let (rings_ns, latest_ns) = (self.rings_ns.load(SeqCst), now_ns + 2 * self.span_ns());
        let is_in_time = rings_ns != OFF && rings_ns <= latest_ns;
        // Somebody else did it meanwhile, or might be stuck.
        if is_in_time && (self.is_well_set(now_ns) || !is_alone()) {
            return;
        }
        self.set(&mut setting, Duration::from_nanos(2 * self.span_ns()));
        self.rings_ns.store(latest_ns, SeqCst);
    }

    /// For who has fallen asleep, as others can see.
    #[inline]
    pub(super) fn note_asleep(&self, are_all_parked: impl FnOnce() -> bool) {
        if self.takes_back.load(Relaxed) && self.rings_ns.load(Relaxed) != OFF {
            self.take_back(are_all_parked);
        }
    }

    #[cold]
    fn take_back(&self, are_all_parked: impl FnOnce() -> bool) {
        let mut setting = self.setting.lock();
        let rings_ns = self.rings_ns.swap(OFF, SeqCst);
        seq_cst_for_loom();
        if rings_ns != OFF && are_all_parked() {
            self.cancel(&mut setting);
        } else {
            self.rings_ns.store(rings_ns, SeqCst);
        }
    }

    /// For the monitor: what was set before counts no more. Whoever wakes up is left in peace for `span`, or twice that; it rings in
    /// so long in any case, if that is given.
    pub(super) fn begin(&self, span: Duration, rings_in: Option<Duration>) {
        let mut setting = self.setting.lock();
        // So that the sum of all times fits.
        let span_ns = u64::try_from(span.as_nanos()).unwrap_or(u64::MAX).clamp(1, u64::MAX / 8);
        self.span_ns.store(span_ns, Relaxed);
        setting.waiting = Some(thread::current());
        let rings_ns = match rings_in {
            None => OFF,
            Some(rings_in) => {
                self.set(&mut setting, rings_in);
                let rings_in_ns = u64::try_from(rings_in.as_nanos()).unwrap_or(u64::MAX);
                self.since_begun_ns(Instant::now()).saturating_add(rings_in_ns)
            }
        };
        // One that rang is one that was set.
        let was_set = self.rings_ns.swap(rings_ns, SeqCst) != OFF;
        if was_set && rings_ns == OFF {
            self.cancel(&mut setting);
        }
    }

    /// For the monitor: waits until it rings, or has to be done without the kernel's from now on.
    pub(super) fn wait(&self) {
        if let Some(timer) = self.timer() {
            if timer.wait().is_err() {
                self.is_refused.store(true, Relaxed);
            }
            return;
        }
        while !std::mem::take(&mut self.setting.lock().has_rung) {
            park();
        }
    }

    /// Rings now, and nobody can take that back.
    pub(super) fn ring_for_good(&self) {
        let mut setting = self.setting.lock();
        self.set(&mut setting, Duration::ZERO);
        setting.is_over = true;
    }

    fn set(&self, setting: &mut Setting, left: Duration) {
        if setting.is_over {
            return;
        }
        if !self.is_done(|timer| timer.set(left)) {
            setting.has_rung = true;
            if let Some(waiting) = &setting.waiting {
                unpark(waiting);
            }
        }
    }

    fn cancel(&self, setting: &mut Setting) {
        if setting.is_over {
            return;
        }
        if !self.is_done(Alarm::cancel) {
            setting.has_rung = false;
        }
    }

    /// Whether the kernel has done that. It is asked no more once it refuses, which has ended the monitor's wait.
    fn is_done(&self, call: impl FnOnce(&Alarm) -> io::Result<()>) -> bool {
        let Some(timer) = self.timer() else { return false };
        let is_done = call(timer).is_ok();
        if !is_done {
            self.is_refused.store(true, Relaxed);
        }
        is_done
    }

    #[cfg(not(wakeful_loom))]
    fn since_begun_ns(&self, now: Instant) -> u64 {
        let since = now.saturating_duration_since(self.begun);
        // From one on, since zero is no time.
        u64::try_from(since.as_nanos()).unwrap_or(u64::MAX).clamp(1, u64::MAX / 2)
    }

    // Loom has no time.
    #[cfg(wakeful_loom)]
    fn since_begun_ns(&self, _: Instant) -> u64 {
        1
    }
}

#[cfg(all(test, not(wakeful_loom)))]
mod tests {
    use super::*;

    const SPAN: Duration = Duration::from_millis(20);

    const SPAN_NS: u64 = SPAN.as_nanos() as u64;

    fn alarm() -> MonitorAlarm {
        let alarm = MonitorAlarm::new();
        alarm.prepare();
        alarm.begin(SPAN, None);
        alarm
    }

    fn without_timer() -> MonitorAlarm {
        let alarm = MonitorAlarm::new();
        alarm.begin(SPAN, None);
        alarm
    }

    fn rings_ns(alarm: &MonitorAlarm) -> u64 {
        alarm.rings_ns.load(SeqCst)
    }

    #[test]
    fn it_rings_for_who_stays_awake() {
        for alarm in [alarm(), without_timer()] {
            alarm.note_awake(Instant::now(), || true);
            alarm.wait();
        }
    }

    #[test]
    fn it_is_put_off_only_by_one_who_is_alone_and_only_when_it_rings_soon() {
        let alarm = alarm();
        alarm.note_awake_at(1, || true);
        assert_eq!(rings_ns(&alarm), 1 + 2 * SPAN_NS);
        alarm.note_awake_at(1 + SPAN_NS, || true);
        assert_eq!(rings_ns(&alarm), 1 + 2 * SPAN_NS, "it is a long time yet");
        alarm.note_awake_at(2 + SPAN_NS, || false);
        assert_eq!(rings_ns(&alarm), 1 + 2 * SPAN_NS, "somebody else may be stuck");
        alarm.note_awake_at(2 + SPAN_NS, || true);
        assert_eq!(rings_ns(&alarm), 2 + 3 * SPAN_NS);
    }

    #[test]
    fn one_that_is_late_is_brought_forward() {
        let alarm = alarm();
        alarm.begin(SPAN, Some(Duration::from_secs(600)));
        alarm.note_awake(Instant::now(), || false);
        alarm.wait();
    }

    #[test]
    fn it_is_taken_back_where_sleeps_are_long() {
        let alarm = alarm();
        let is_taken_back_at = |now_ns| {
            alarm.note_awake_at(now_ns, || true);
            alarm.note_asleep(|| true);
            rings_ns(&alarm) == OFF
        };
        assert!(!is_taken_back_at(1), "nobody has slept yet");
        assert!(is_taken_back_at(SPAN_NS));
        assert!(!is_taken_back_at(SPAN_NS * 5 / 4), "a short one");
        assert!(is_taken_back_at(5 * SPAN_NS));
    }

    #[test]
    fn it_is_not_taken_back_from_others() {
        let alarm = alarm();
        alarm.takes_back.store(true, SeqCst);
        alarm.note_awake(Instant::now(), || true);
        let set = rings_ns(&alarm);
        alarm.note_asleep(|| false);
        assert_eq!(rings_ns(&alarm), set);
        alarm.wait();
    }

    #[test]
    fn the_last_ring_cannot_be_taken_back() {
        for alarm in [alarm(), without_timer()] {
            alarm.takes_back.store(true, SeqCst);
            alarm.note_awake(Instant::now(), || true);
            alarm.ring_for_good();
            alarm.note_asleep(|| true);
            alarm.begin(SPAN, None);
            alarm.wait();
        }
    }

    #[test]
    fn there_is_no_span_too_long_or_too_short() {
        for span in [Duration::ZERO, Duration::MAX] {
            let alarm = MonitorAlarm::new();
            alarm.prepare();
            alarm.begin(span, Some(span));
            alarm.note_awake(Instant::now(), || true);
        }
    }
}
