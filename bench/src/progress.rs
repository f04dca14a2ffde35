//! The progress of a run, printed to standard error.

use std::io::{IsTerminal, Write};
use std::time::Duration;

pub struct Progress {
    cases: usize,
    done: usize,
    /// Whether to print a line that changes. In a file, each change would be one more line.
    live: bool,
}

impl Progress {
    pub fn new(cases: usize) -> Progress {
        Progress { cases, done: 0, live: std::io::stderr().is_terminal() }
    }

    pub fn sample_begins(&self, case: &str, contender: &str, round: usize, rounds: usize) {
        if self.live {
            let (nth, cases) = (self.done + 1, self.cases);
            self.show(&format!("[{nth}/{cases}] {case}: {contender}, round {round} of {rounds}"));
        }
    }

    pub fn case_done(&mut self, case: &str, took: Duration) {
        self.done += 1;
        let (done, cases, seconds) = (self.done, self.cases, took.as_secs_f64());
        self.show(&format!("[{done}/{cases}] {case:<28} {seconds:>5.1} s\n"));
    }

    fn show(&self, text: &str) {
        // Overwrites the line.
        let start = if self.live { "\r\x1b[2K" } else { "" };
        // A failure means that standard error is closed, so there is no reader.
        let _ = write!(std::io::stderr(), "{start}{text}");
    }
}
