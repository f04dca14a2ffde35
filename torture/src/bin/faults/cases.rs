//! All cases, and what is to come of each.
//!
//! This is the one table of what Wakeful does when something goes wrong; the guide's page on it is checked against
//! this one (`page.rs`).

mod system_calls;
mod the_rest;

use crate::fault::Fault;
use crate::workload::Flavour;

/// When the fault comes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum When {
    /// Before there is a runtime.
    Start,
    /// When a runtime has been at work for a moment, and still is.
    Later,
}

impl When {
    pub fn name(self) -> &'static str {
        match self {
            When::Start => "start",
            When::Later => "later",
        }
    }
}

/// What is to come of a case. Never that something hangs, that a result is wrong, or that the process dies without a word.
///
/// An operation fails with an error or a panic. In a text, `{call}` stands for the system call that fails, and
/// `{errno}` for what the system says to its error.
#[derive(Debug, Clone, Copy)]
pub enum Expected {
    /// Everything does what it does elsewhere.
    Works,
    /// These operations fail and say so; all others work.
    Without(&'static [(&'static str, &'static str)]),
    /// Some operations may fail, which is up to the number of threads or descriptors that are left. Each says one of the
    /// texts, and so does a process that ends, for want of memory.
    MayFail(&'static [&'static str]),
    /// There is no runtime: `Builder::build` returns an error that contains the text.
    NoRuntime(&'static str),
    /// The runtime goes on, and its I/O does not: operations with I/O that fail say so, and standard error says why, in this
    /// text.
    IoEnds(&'static str),
    /// The runtime cannot go on. Every operation that fails says so, or the process ends and does.
    Ends(&'static [&'static str]),
}

#[cfg(test)]
impl Expected {
    /// The word for it in the guide's table, in English and in Chinese.
    pub fn words(&self) -> [&'static str; 2] {
        match self {
            Expected::Works => ["works", "照常"],
            Expected::Without(_) | Expected::MayFail(_) => ["limited", "受限"],
            Expected::NoRuntime(_) => ["no runtime", "无法创建"],
            Expected::IoEnds(_) => ["I/O ends", "I/O 终止"],
            Expected::Ends(_) => ["ends", "终止"],
        }
    }
}

/// Faults of one kind.
pub struct Group {
    /// What the cases' names begin with.
    pub name: &'static str,
    /// What the row of the guide's table begins with; groups may share one.
    pub row: &'static str,
    /// With a name for each, empty if there is but one.
    pub faults: Vec<(String, Fault)>,
    pub expected: Vec<(When, Option<Flavour>, Expected)>,
    /// Whether the first fault is tried in the quick form.
    pub quick: bool,
}

impl Group {
    fn new(name: &'static str, faults: Vec<(String, Fault)>) -> Group {
        Group { name, row: name, faults, expected: Vec::new(), quick: false }
    }

    fn row(mut self, row: &'static str) -> Group {
        self.row = row;
        self
    }

    fn start(mut self, expected: Expected) -> Group {
        self.expected.push((When::Start, None, expected));
        self
    }

    fn later(mut self, expected: Expected) -> Group {
        self.expected.push((When::Later, None, expected));
        self
    }

    fn both(self, expected: Expected) -> Group {
        self.start(expected).later(expected)
    }

    /// For one kind of runtime.
    fn on(mut self, flavour: Flavour, when: When, expected: Expected) -> Group {
        self.expected.push((when, Some(flavour), expected));
        self
    }

    fn quick(mut self) -> Group {
        self.quick = true;
        self
    }
}

/// One run of a child process.
pub struct Case {
    /// As it is given to `--only`, and to the child.
    pub name: String,
    /// Unlike all others'.
    pub number: usize,
    pub fault: Fault,
    pub when: When,
    pub flavour: Flavour,
    pub expected: Expected,
    pub quick: bool,
}

pub fn groups() -> Vec<Group> {
    let mut groups = system_calls::groups();
    groups.extend(the_rest::groups());
    groups
}

pub fn all() -> Vec<Case> {
    let mut cases = Vec::new();
    for group in groups() {
        for (index, (variant, fault)) in group.faults.iter().enumerate() {
            for &(when, only, expected) in &group.expected {
                for flavour in Flavour::ALL {
                    if only.is_some_and(|only| only != flavour) {
                        continue;
                    }
                    let parts = [group.name, variant, when.name(), flavour.name()];
                    let parts = parts.map(|part| part.replace(' ', "-"));
                    let parts = parts.iter().filter(|part| !part.is_empty());
                    cases.push(Case {
                        name: parts.cloned().collect::<Vec<_>>().join("."),
                        number: cases.len(),
                        fault: fault.clone(),
                        when,
                        flavour,
                        expected,
                        quick: group.quick && index == 0,
                    });
                }
            }
        }
    }
    cases
}
