//! Decides when hostile code panics, and counts what is alive. The state is static, because only
//! one scenario runs at a time.

use std::any::Any;
use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU32, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use wakeful_torture::rng::Rng;

/// What hostile code is called for.
#[derive(Debug, Clone, Copy)]
pub enum Act {
    WakerClone,
    Wake,
    WakerDrop,
    ValueClone,
    ValueDrop,
    /// The poll of a future, or the call of a closure.
    Call,
    Hook,
    PayloadDrop,
}

const ACTS: usize = Act::PayloadDrop as usize + 1;

/// Probabilities of a panic, in thousandths. Each scenario draws one for each act.
const CHANCES: &[u32] = &[0, 0, 20, 100, 400];

/// Acts that drops perform. A panic in a drop may leak values by the rules of Rust: if dropping a
/// local panics, the return value of the function is not dropped.
const DROPS: &[Act] = &[Act::Wake, Act::WakerDrop, Act::ValueDrop, Act::PayloadDrop];

/// The probability that drops may panic in a scenario, in thousandths. In the other scenarios any
/// leak is a finding.
const DROPS_CHANCE: u32 = 600;

/// The probability that a wake or a drop calls the primitive that is calling it, in thousandths, in
/// scenarios with mischief.
const MISCHIEF_CHANCE: u32 = 150;

static ARMED: AtomicBool = AtomicBool::new(false);
static CHANCE: [AtomicU32; ACTS] = [const { AtomicU32::new(0) }; ACTS];
static ROLLS: AtomicU64 = AtomicU64::new(0);

static OPERATIONS: AtomicU64 = AtomicU64::new(0);
static PANICS: AtomicU64 = AtomicU64::new(0);
static MISCHIEFS: AtomicU64 = AtomicU64::new(0);
/// In the current scenario.
static DROP_PANICS: AtomicU64 = AtomicU64::new(0);
static LIVE_VALUES: AtomicI64 = AtomicI64::new(0);
static LIVE_WAKERS: AtomicI64 = AtomicI64::new(0);
static SCENARIO: AtomicU64 = AtomicU64::new(0);

/// An operation on the primitive under test, called from wakers and drops.
pub type Mischief = Arc<dyn Fn(&mut Rng) + Send + Sync>;

static MISCHIEF: Mutex<Option<Mischief>> = Mutex::new(None);

/// The findings of this scenario. The panic hook adds to it.
static FINDINGS: Mutex<Vec<String>> = Mutex::new(Vec::new());

/// The payload of most panics that hostile code raises. The others have a [`Payload`].
struct Plain;

/// A panic payload whose drop panics.
struct Payload {
    _counted: Counted,
}

impl Drop for Payload {
    fn drop(&mut self) {
        maybe_panic(Act::PayloadDrop);
    }
}

/// Starts a scenario: draws the probability of a panic for each act.
pub fn begin(rng: &mut Rng) {
    SCENARIO.fetch_add(1, Relaxed);
    [&LIVE_VALUES, &LIVE_WAKERS].iter().for_each(|live| live.store(0, Relaxed));
    DROP_PANICS.store(0, Relaxed);
    let do_drops_panic = rng.chance(DROPS_CHANCE);
    for (act, chance) in CHANCE.iter().enumerate() {
        let drawn = CHANCES[rng.below(CHANCES.len())];
        let is_drop = DROPS.iter().any(|drop| *drop as usize == act);
        chance.store(if is_drop && !do_drops_panic { 0 } else { drawn }, Relaxed);
    }
    ROLLS.store(rng.next_u64(), Relaxed);
    ARMED.store(true, Relaxed);
}

/// Sets whether hostile code may panic.
pub fn arm(armed: bool) {
    ARMED.store(armed, Relaxed);
}

/// Returns a generator of random numbers. Any thread may call it.
fn roll() -> Rng {
    Rng::new(ROLLS.fetch_add(0x9e37_79b9_7f4a_7c15, Relaxed))
}

/// Panics with the probability that the scenario has drawn for `act`.
pub fn maybe_panic(act: Act) {
    // A second panic during unwinding would abort the process.
    if !ARMED.load(Relaxed) || thread::panicking() {
        return;
    }
    let mut rng = roll();
    if !rng.chance(CHANCE[act as usize].load(Relaxed)) {
        return;
    }
    PANICS.fetch_add(1, Relaxed);
    if DROPS.iter().any(|drop| *drop as usize == act as usize) {
        DROP_PANICS.fetch_add(1, Relaxed);
    }
    // `resume_unwind` does not call the panic hook, which reports the panics of other code. When
    // the drop of a payload panics, the new payload must not panic too: the code that catches it
    // may have to leak it.
    if matches!(act, Act::PayloadDrop) || rng.chance(700) {
        resume_unwind(Box::new(Plain));
    }
    resume_unwind(Box::new(Payload { _counted: Counted::value() }));
}

/// With some probability, calls the primitive under test, if the scenario has mischief.
pub fn maybe_mischief() {
    thread_local! {
        static INSIDE: Cell<bool> = const { Cell::new(false) };
    }
    if !ARMED.load(Relaxed) || thread::panicking() || INSIDE.get() {
        return;
    }
    let mut rng = roll();
    if !rng.chance(MISCHIEF_CHANCE) {
        return;
    }
    let mischief = locked(&MISCHIEF).clone();
    if let Some(mischief) = mischief {
        MISCHIEFS.fetch_add(1, Relaxed);
        INSIDE.set(true);
        attempt(|| mischief(&mut rng));
        INSIDE.set(false);
    }
}

/// Sets what [`maybe_mischief`] does.
pub fn set_mischief(mischief: Option<Mischief>) {
    let before = std::mem::replace(&mut *locked(&MISCHIEF), mischief);
    attempt(|| drop(before));
}

/// Calls `f`. Returns `None` if it panics.
pub fn attempt<R>(f: impl FnOnce() -> R) -> Option<R> {
    OPERATIONS.fetch_add(1, Relaxed);
    match catch_unwind(AssertUnwindSafe(f)) {
        Ok(result) => Some(result),
        Err(payload) => {
            drop_payload(payload);
            None
        }
    }
}

/// Drops a value whose drop may panic.
pub fn discard<T>(value: T) {
    attempt(|| drop(value));
}

/// Drops a payload, and each payload that such a drop throws.
pub fn drop_payload(mut payload: Box<dyn Any + Send>) {
    while let Err(next) = catch_unwind(AssertUnwindSafe(|| drop(payload))) {
        payload = next;
    }
}

/// Reports and records a finding.
pub fn finding(text: String) {
    eprintln!("FINDING: {text}");
    locked(&FINDINGS).push(text);
}

/// Returns the findings and clears them.
pub fn take_findings() -> Vec<String> {
    std::mem::take(&mut *locked(&FINDINGS))
}

/// Counts a live value or waker of the scenario in which it was created.
#[derive(Debug)]
pub struct Counted {
    live: &'static AtomicI64,
    scenario: u64,
}

impl Counted {
    pub fn value() -> Counted {
        Counted::new(&LIVE_VALUES)
    }

    pub fn waker() -> Counted {
        Counted::new(&LIVE_WAKERS)
    }

    fn new(live: &'static AtomicI64) -> Counted {
        live.fetch_add(1, Relaxed);
        Counted { live, scenario: SCENARIO.load(Relaxed) }
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        if self.scenario == SCENARIO.load(Relaxed) {
            self.live.fetch_sub(1, Relaxed);
        }
    }
}

/// Returns how many values and wakers of this scenario are alive.
pub fn live() -> (i64, i64) {
    (LIVE_VALUES.load(Relaxed), LIVE_WAKERS.load(Relaxed))
}

/// Returns whether a drop has panicked in this scenario.
pub fn has_drop_panicked() -> bool {
    DROP_PANICS.load(Relaxed) > 0
}

/// Returns the number of operations, of panics that hostile code raised, and of calls from wakers
/// and drops, since the last call.
pub fn take_counts() -> [(&'static str, u64); 3] {
    [
        ("operations", OPERATIONS.swap(0, Relaxed)),
        ("panics", PANICS.swap(0, Relaxed)),
        ("re-entries", MISCHIEFS.swap(0, Relaxed)),
    ]
}

fn locked<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
