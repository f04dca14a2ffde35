//! Pairs of counters that must agree in the end.

use std::fmt;
use std::sync::Mutex;
use std::sync::PoisonError;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};

/// The pairs.
#[derive(Debug, Clone, Copy)]
pub enum Pair {
    Connections,
    Handlers,
    Echoes,
    Mpsc,
    MpscIds,
    Unbounded,
    Oneshots,
    Broadcast,
    Watch,
    Notify,
    Permits,
    Mutex,
    RwLock,
    Barrier,
    Tokens,
    Tasks,
    Blocking,
    InPlace,
    FileBytes,
    Sleeps,
}

/// The name of each pair, and of its two counters.
const NAMES: &[(&str, &str, &str)] = &[
    ("connections", "opened", "accepted"),
    ("handlers", "begun", "ended"),
    ("echoes", "asked for", "checked"),
    ("mpsc", "sent", "received"),
    ("mpsc, sum of ids", "sent", "received"),
    ("mpsc, unbounded", "sent", "received"),
    ("oneshot", "asked", "answered or given up"),
    ("broadcast", "sent to receivers", "received or lagged"),
    ("watch", "last values", "seen by each"),
    ("notify", "notified", "received"),
    ("semaphore", "acquired", "released"),
    ("mutex", "locked", "counted under it"),
    ("rwlock", "written", "counted under it"),
    ("barrier", "rounds", "leaders"),
    ("values", "made", "dropped"),
    ("tasks", "spawned", "finished, cancelled or panicked"),
    ("spawn_blocking", "called", "done, or dropped with its runtime"),
    ("block_in_place", "called", "done"),
    ("files, bytes", "written", "read back"),
    ("sleeps", "begun", "ended or given up"),
];

/// The counters of all flavours together.
pub struct Sums {
    pairs: [[AtomicU64; 2]; NAMES.len()],
}

pub static SUMS: Sums = Sums { pairs: [const { [const { AtomicU64::new(0) }; 2] }; NAMES.len()] };

impl Sums {
    /// Adds to the first counter of a pair.
    pub fn left(&self, pair: Pair, count: u64) {
        self.pairs[pair as usize][0].fetch_add(count, Relaxed);
    }

    /// Adds to the second counter of a pair.
    pub fn right(&self, pair: Pair, count: u64) {
        self.pairs[pair as usize][1].fetch_add(count, Relaxed);
    }

    /// Returns a line with some first counters, to show progress.
    pub fn line(&self) -> String {
        let shown = [Pair::Connections, Pair::Echoes, Pair::Mpsc, Pair::Permits, Pair::Tasks];
        let shown = shown.iter().chain(&[Pair::Blocking, Pair::FileBytes, Pair::Sleeps]);
        let shown = shown.map(|what| {
            let count = self.pairs[*what as usize][0].load(Relaxed);
            format!("{count} {}", NAMES[*what as usize].0)
        });
        shown.collect::<Vec<_>>().join(", ")
    }

    /// Reports each pair that does not agree.
    pub fn check(&self) {
        for ((name, left, right), pair) in NAMES.iter().zip(&self.pairs) {
            let (a, b) = (pair[0].load(Relaxed), pair[1].load(Relaxed));
            if a != b {
                finding(format!("{name}: {a} {left}, but {b} {right}"));
            }
        }
    }
}

impl fmt::Display for Sums {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for ((name, left, right), pair) in NAMES.iter().zip(&self.pairs) {
            let (a, b) = (pair[0].load(Relaxed), pair[1].load(Relaxed));
            writeln!(f, "  {name:18} {a:>12} {left}, {b} {right}")?;
        }
        Ok(())
    }
}

static FOUND: AtomicBool = AtomicBool::new(false);

/// Reports a finding.
pub fn finding(text: impl fmt::Display) {
    FOUND.store(true, Relaxed);
    eprintln!("FINDING: {text}");
}

/// Returns whether there was a finding.
pub fn has_found() -> bool {
    FOUND.load(Relaxed)
}

/// Counters without a counterpart, such as operations that were dropped, by name.
static OTHER: Mutex<Vec<(&str, u64)>> = Mutex::new(Vec::new());

/// Adds 1 to a counter without a counterpart.
pub fn note(name: &'static str) {
    let mut other = OTHER.lock().unwrap_or_else(PoisonError::into_inner);
    match other.iter_mut().find(|(noted, _)| *noted == name) {
        Some((_, count)) => *count += 1,
        None => other.push((name, 1)),
    }
}

/// Returns the counters of [`note`] as text.
pub fn noted() -> String {
    let other = OTHER.lock().unwrap_or_else(PoisonError::into_inner);
    other.iter().map(|(name, count)| format!("{count} {name}")).collect::<Vec<_>>().join(", ")
}

/// A value that counts its drop.
#[derive(Debug)]
pub struct Token {
    pub id: u64,
}

impl Token {
    pub fn new(id: u64) -> Token {
        SUMS.left(Pair::Tokens, 1);
        Token { id }
    }
}

impl Clone for Token {
    fn clone(&self) -> Token {
        Token::new(self.id)
    }
}

impl Drop for Token {
    fn drop(&mut self) {
        SUMS.right(Pair::Tokens, 1);
    }
}
