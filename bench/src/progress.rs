//! What a person sees while a run goes on, on standard error.

use std::io::{IsTerminal, Write};
use std::time::Duration;

pub struct Progress {
    cases: usize,
    done: usize,
    /// A line that changes; a file would fill up with it.
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
        // Over what the line shows now.
        let start = if self.live { "\r\x1b[2K" } else { "" };
        // Who closed standard error does not want to see it.
        let _ = write!(std::io::stderr(), "{start}{text}");
    }
}
