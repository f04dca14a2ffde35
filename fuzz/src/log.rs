//! The log of a run: the outcome of each operation, cheap to write and to compare.
//!
//! Outcomes are recorded as the numbers that their `Hash` implementation feeds to a hasher. Text is
//! made only if there is a difference: both sides run again to describe it.

use std::fmt::Debug;
use std::hash::{Hash, Hasher};

/// Marks the beginning of a step in the numbers.
const STEP: u64 = 0x5354_4550_5354_4550;

/// The log of one run.
#[derive(Default)]
pub struct Log {
    numbers: Vec<u64>,
    /// The entries with their text, if the run is to be described.
    notes: Option<Vec<Note>>,
    step: usize,
}

/// An entry of the log as text.
pub struct Note {
    /// The step to which it belongs. Step 0 is the setup, step 1 the first operation.
    pub step: usize,
    /// What kind of outcome it is.
    pub what: &'static str,
    /// The outcome.
    pub text: String,
    /// The range of its numbers.
    range: (usize, usize),
}

impl Log {
    /// Creates a log that also keeps the text of each entry.
    pub fn described() -> Log {
        Log { notes: Some(Vec::new()), ..Log::default() }
    }

    /// Clears the log, but keeps its memory.
    pub fn clear(&mut self) {
        self.numbers.clear();
        self.step = 0;
    }

    /// Begins the entries of the next operation.
    pub fn begin_step(&mut self) {
        self.step += 1;
        self.numbers.push(STEP);
    }

    /// Logs an outcome.
    pub fn note(&mut self, what: &'static str, outcome: &(impl Hash + Debug)) {
        let begin = self.numbers.len();
        outcome.hash(&mut Recorder(&mut self.numbers));
        if let Some(notes) = &mut self.notes {
            let range = (begin, self.numbers.len());
            notes.push(Note { step: self.step, what, text: format!("{outcome:?}"), range });
        }
    }

    /// Returns whether both logs have the same outcomes.
    pub fn is_same(&self, other: &Log) -> bool {
        self.numbers == other.numbers
    }

    /// Returns the first entry of each log that differs. Both logs must be described.
    pub fn first_difference<'a>(&'a self, other: &'a Log) -> [Option<&'a Note>; 2] {
        let (ours, theirs) = (self.notes.as_deref(), other.notes.as_deref());
        let (ours, theirs) = (ours.unwrap_or_default(), theirs.unwrap_or_default());
        let same = ours.iter().zip(theirs).take_while(|(our, their)| {
            our.step == their.step
                && our.what == their.what
                && self.numbers_of(our) == other.numbers_of(their)
        });
        let at = same.count();
        [ours.get(at), theirs.get(at)]
    }

    fn numbers_of(&self, note: &Note) -> &[u64] {
        &self.numbers[note.range.0..note.range.1]
    }
}

/// A hasher that records the numbers it is fed.
struct Recorder<'a>(&'a mut Vec<u64>);

impl Hasher for Recorder<'_> {
    fn write(&mut self, bytes: &[u8]) {
        for chunk in bytes.chunks(8) {
            let mut word = [0; 8];
            word[..chunk.len()].copy_from_slice(chunk);
            self.0.push(u64::from_le_bytes(word));
        }
    }

    fn write_u8(&mut self, number: u8) {
        self.0.push(number.into());
    }

    fn write_u32(&mut self, number: u32) {
        self.0.push(number.into());
    }

    fn write_u64(&mut self, number: u64) {
        self.0.push(number);
    }

    fn write_usize(&mut self, number: usize) {
        self.0.push(number as u64);
    }

    fn write_isize(&mut self, number: isize) {
        self.0.push(number as u64);
    }

    fn finish(&self) -> u64 {
        0
    }
}
