//! All cases, and the expected outcome of each.
//!
//! This table defines what Wakeful does when something goes wrong. A test compares the guide's page
//! with it (`page.rs`).

mod system_calls;
mod the_rest;

use crate::fault::Fault;
use crate::workload::Flavour;

/// When the fault begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum When {
    /// Before the runtime is built.
    Start,
    /// When the runtime has been running for a moment.
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

/// The expected outcome of a case. A hang, a wrong result, or the end of the process without a
/// message is never expected.
///
/// An operation fails with an error or a panic. In the texts, `{call}` stands for the system call
/// that fails, and `{errno}` for the system's message for its error.
#[derive(Debug, Clone, Copy)]
pub enum Expected {
    /// All operations work as usual.
    Works,
    /// These operations fail with this text. All others work.
    Without(&'static [(&'static str, &'static str)]),
    /// Any operation may fail, depending on how many threads or descriptors are left. Each failure
    /// contains one of the texts. The process may also end for lack of memory, if its stderr
    /// contains one of them.
    MayFail(&'static [&'static str]),
    /// `Builder::build` returns an error that contains the text.
    NoRuntime(&'static str),
    /// The runtime keeps running without I/O: I/O operations fail, and the text is printed to
    /// stderr.
    IoEnds(&'static str),
    /// The runtime cannot continue. Each operation that fails contains one of the texts, or the
    /// process ends and its stderr contains one.
    Ends(&'static [&'static str]),
}

#[cfg(test)]
impl Expected {
    /// The word for this outcome in the guide's table, in English and in Chinese.
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

/// Cases with faults of one kind.
pub struct Group {
    /// The start of the names of the cases.
    pub name: &'static str,
    /// The first words of the row in the guide's table. Several groups may share a row.
    pub row: &'static str,
    /// Each fault with its name, which is empty if there is only one.
    pub faults: Vec<(String, Fault)>,
    pub expected: Vec<(When, Option<Flavour>, Expected)>,
    /// Whether a run without `--all` includes the first fault.
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

    /// Sets the expected outcome for one kind of runtime.
    fn on(mut self, flavour: Flavour, when: When, expected: Expected) -> Group {
        self.expected.push((when, Some(flavour), expected));
        self
    }

    fn quick(mut self) -> Group {
        self.quick = true;
        self
    }
}

/// A case: a fault at a time on one kind of runtime, run in a child process.
pub struct Case {
    /// The name, as passed to `--only` and to the child.
    pub name: String,
    /// A number that no other case has.
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
