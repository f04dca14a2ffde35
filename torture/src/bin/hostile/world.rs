//! When hostile code panics, and what is counted. One scenario runs at a time, so all of it is
//! static.

use std::any::Any;
use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU32, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use wakeful_torture::rng::Rng;

/// What hostile code was called for when it panics.
#[derive(Debug, Clone, Copy)]
pub enum Act {
    WakerClone,
    Wake,
    WakerDrop,
    ValueClone,
    ValueDrop,
    /// A future's poll, or a closure.
    Call,
    Hook,
    PayloadDrop,
}

const ACTS: usize = Act::PayloadDrop as usize + 1;

/// How likely an act may be to panic, in thousandths. A scenario draws one for each act.
const CHANCES: &[u32] = &[0, 0, 20, 100, 400];

/// What is called by drops. A panic there may leak values by Rust's own rules: what a function is
/// about to return is not dropped if the drop of one of its locals panics.
const DROPS: &[Act] = &[Act::Wake, Act::WakerDrop, Act::ValueDrop, Act::PayloadDrop];

/// How often drops may panic, in thousandths. In the other scenarios nothing may leak.
const DROPS_CHANCE: u32 = 600;

/// How likely a wake or a drop is to come back to the primitive that it is called by, where that is
/// wanted.
const MISCHIEF_CHANCE: u32 = 150;

static ARMED: AtomicBool = AtomicBool::new(false);
static CHANCE: [AtomicU32; ACTS] = [const { AtomicU32::new(0) }; ACTS];
static ROLLS: AtomicU64 = AtomicU64::new(0);

static OPERATIONS: AtomicU64 = AtomicU64::new(0);
static PANICS: AtomicU64 = AtomicU64::new(0);
static MISCHIEFS: AtomicU64 = AtomicU64::new(0);
/// Of this scenario.
static DROP_PANICS: AtomicU64 = AtomicU64::new(0);
static LIVE_VALUES: AtomicI64 = AtomicI64::new(0);
static LIVE_WAKERS: AtomicI64 = AtomicI64::new(0);
static SCENARIO: AtomicU64 = AtomicU64::new(0);

/// An operation on the primitive under test, called from inside of wakers and drops.
pub type Mischief = Arc<dyn Fn(&mut Rng) + Send + Sync>;

static MISCHIEF: Mutex<Option<Mischief>> = Mutex::new(None);

/// What has been found in this scenario; the panic hook adds to it.
static FINDINGS: Mutex<Vec<String>> = Mutex::new(Vec::new());

/// The payload of a panic that hostile code raises, if it is not a [`Payload`].
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

/// Starts a scenario: draws how likely each act is to panic.
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

/// Whether hostile code may panic from now on.
pub fn arm(armed: bool) {
    ARMED.store(armed, Relaxed);
}

/// A random number, whichever thread asks.
fn roll() -> Rng {
    Rng::new(ROLLS.fetch_add(0x9e37_79b9_7f4a_7c15, Relaxed))
}

/// Panics, if the scenario's dice say so.
pub fn maybe_panic(act: Act) {
    // A panic out of a drop while another one unwinds would abort the process, by Rust's own rule.
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
    // Without the panic hook, which is for the panics of others. A payload whose own drop panics
    // must not throw another one: the code that catches it may have to leak it.
    if matches!(act, Act::PayloadDrop) || rng.chance(700) {
        resume_unwind(Box::new(Plain));
    }
    resume_unwind(Box::new(Payload { _counted: Counted::value() }));
}

/// Comes back to the primitive under test, if there is one for that and the dice say so.
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

/// Calls `f` and returns `None` if it panics.
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

/// Drops a payload, and what its drop throws.
pub fn drop_payload(mut payload: Box<dyn Any + Send>) {
    while let Err(next) = catch_unwind(AssertUnwindSafe(|| drop(payload))) {
        payload = next;
    }
}

/// Notes something that is wrong.
pub fn finding(text: String) {
    eprintln!("FINDING: {text}");
    locked(&FINDINGS).push(text);
}

/// Takes what was noted.
pub fn take_findings() -> Vec<String> {
    std::mem::take(&mut *locked(&FINDINGS))
}

/// Counts something that is made and dropped, for the scenario that it was made in.
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

/// Values and wakers of this scenario that were made and not dropped.
pub fn live() -> (i64, i64) {
    (LIVE_VALUES.load(Relaxed), LIVE_WAKERS.load(Relaxed))
}

/// Whether a drop has panicked in this scenario.
pub fn has_drop_panicked() -> bool {
    DROP_PANICS.load(Relaxed) > 0
}

/// Operations, panics raised by hostile code, and operations from inside of wakers and drops, since
/// it was called last.
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
