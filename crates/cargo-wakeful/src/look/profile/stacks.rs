//! What a profile consists of.

use std::collections::BTreeMap;

/// A kind of time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Time {
    /// The time that polls took, by spawn site and future.
    Busy,
    /// The time for which tasks waited, by await stack.
    Waiting,
}

impl Time {
    pub fn name(self) -> &'static str {
        match self {
            Time::Busy => "busy",
            Time::Waiting => "waiting",
        }
    }
}

/// A line of a stack.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Frame {
    /// The function, the place of a spawn, or what is waited for.
    pub name: String,
    pub file: Option<String>,
    /// Zero if it is not known.
    pub line: u64,
}

impl Frame {
    pub fn named(name: &str) -> Frame {
        Frame { name: name.to_owned(), file: None, line: 0 }
    }

    /// Returns the frame of a place such as `src/db.rs:41:9`.
    pub fn of_site(site: &str) -> Frame {
        let mut parts = site.rsplitn(3, ':');
        let (_column, line) = (parts.next(), parts.next().and_then(|line| line.parse().ok()));
        let file = parts.next().filter(|_| line.is_some()).map(str::to_owned);
        Frame { name: site.to_owned(), file, line: line.unwrap_or(0) }
    }

    /// Returns the name, and where that is unless the name says so.
    pub fn label(&self) -> String {
        match &self.file {
            Some(file) if !self.name.starts_with(file.as_str()) => {
                format!("{} ({file}:{})", self.name, self.line)
            }
            _ => self.name.clone(),
        }
    }
}

/// A stack, and the time that was spent there.
#[derive(Debug, Clone, PartialEq)]
pub struct Sample {
    pub time: Time,
    /// The outermost frame first.
    pub stack: Vec<Frame>,
    pub us: u64,
    /// Only for busy time.
    pub polls: u64,
}

/// Times by stack, while they are added up.
#[derive(Default)]
pub struct Sums {
    sums: BTreeMap<Vec<Frame>, (f64, u64)>,
}

impl Sums {
    pub fn add(&mut self, stack: Vec<Frame>, us: f64, polls: u64) {
        let sum = self.sums.entry(stack).or_default();
        (sum.0, sum.1) = (sum.0 + us, sum.1 + polls);
    }

    /// Returns the sums, each time multiplied by the factor. Less than a microsecond is left out.
    pub fn samples(&self, time: Time, factor: f64) -> Vec<Sample> {
        let sample = |(stack, sum): (&Vec<Frame>, &(f64, u64))| Sample {
            time,
            stack: stack.clone(),
            us: (sum.0 * factor).round() as u64,
            polls: sum.1,
        };
        self.sums.iter().map(sample).filter(|sample| sample.us > 0).collect()
    }
}

/// What was recorded.
#[derive(Debug, PartialEq)]
pub struct Profile {
    /// The kinds of time that were asked for.
    pub times: Vec<Time>,
    pub samples: Vec<Sample>,
    /// For how long was recorded.
    pub us: u64,
    /// For how long workers were not parked, all together.
    pub workers_us: u64,
    /// How many tasks have answered.
    pub asked: u64,
    /// Waiting time of moments in which no task answered.
    pub unknown_us: u64,
    /// What the user should know about the recording.
    pub remarks: Vec<String>,
}

impl Profile {
    /// Returns the samples of this kind, those with most time first.
    pub fn longest(&self, time: Time) -> Vec<&Sample> {
        let mut samples: Vec<&Sample> = self.of(time).collect();
        samples.sort_by_key(|sample| std::cmp::Reverse(sample.us));
        samples
    }

    pub fn of(&self, time: Time) -> impl Iterator<Item = &Sample> {
        self.samples.iter().filter(move |sample| sample.time == time)
    }
}
