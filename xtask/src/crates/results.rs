//! The committed results. An entry is
//!
//! ```text
//! NAME VERSION DATE both=N neither=N skipped=N [uncompiled=TARGET,TARGET]
//!     differs TARGET TEST tokio=N wakeful=N
//! ```
//!
//! The numbers of a difference say how often the test passed when it was repeated.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use super::compare::REPEATS;
use super::list::Entry;
use crate::probe::failed;

#[cfg(test)]
mod tests;

const PATH: &str = "xtask/crates/results.txt";

const HEAD: &str = "# The tests of published crates on Tokio and on Wakeful; made by `cargo xtask crates --record`.\n\
                    # The format is described in xtask/src/crates/results.rs.\n";

/// The results of all crates, by name.
#[derive(Debug, Default, PartialEq)]
pub struct Results(pub BTreeMap<String, Run>);

/// The last recorded run of a crate.
#[derive(Debug, PartialEq)]
pub struct Run {
    pub version: String,
    pub date: String,
    pub counts: Counts,
}

/// The numbers of a crate's tests.
#[derive(Debug, Default, PartialEq)]
pub struct Counts {
    /// Tests that pass on both runtimes.
    pub both: usize,
    /// Tests that fail on both.
    pub neither: usize,
    /// Entries of the list that exclude tests.
    pub skipped: usize,
    /// Targets that do not compile on Tokio.
    pub uncompiled: Vec<String>,
    /// Tests whose first runs differed.
    pub differences: Vec<Difference>,
}

/// A test that passed on one runtime only, and how often it passed when it was repeated.
#[derive(Debug, PartialEq)]
pub struct Difference {
    pub target: String,
    pub test: String,
    pub on_tokio: u32,
    pub on_wakeful: u32,
}

impl Difference {
    /// Whether the test passed each time that it was repeated.
    fn was_a_coincidence(&self) -> bool {
        self.on_tokio == REPEATS && self.on_wakeful == REPEATS
    }

    /// Whether the test passes less often on Wakeful.
    pub fn is_worse(&self) -> bool {
        self.on_wakeful < self.on_tokio
    }
}

impl Counts {
    /// Counts differences that did not show again as passed.
    pub fn settle(&mut self) {
        let before = self.differences.len();
        self.differences.retain(|difference| !difference.was_a_coincidence());
        self.both += before - self.differences.len();
    }

    /// Returns the number of tests that pass on Tokio.
    pub fn on_tokio(&self) -> usize {
        self.both + self.differences.iter().filter(|it| it.on_tokio > 0).count()
    }

    /// Returns the number of those that also pass on Wakeful, at least as often.
    pub fn on_wakeful(&self) -> usize {
        let as_often = |it: &&Difference| it.on_tokio > 0 && !it.is_worse();
        self.both + self.differences.iter().filter(as_often).count()
    }

    pub fn print(&self, name: &str) {
        println!(
            "{name}: {} of {} that pass on Tokio, {} fail on both, {} skipped",
            self.on_wakeful(),
            self.on_tokio(),
            self.neither,
            self.skipped
        );
        for target in &self.uncompiled {
            println!("    {target} does not compile on Tokio");
        }
        for Difference { target, test, on_tokio, on_wakeful } in &self.differences {
            println!(
                "    {target} {test}: of {REPEATS} runs pass {on_tokio} on Tokio, {on_wakeful} on Wakeful"
            );
        }
    }

    /// Returns a message if a test does worse on Wakeful than on Tokio.
    pub fn failure(&self, name: &str) -> Option<String> {
        let worse: Vec<String> = self
            .differences
            .iter()
            .filter(|difference| difference.is_worse())
            .map(|it| format!("{} {}", it.target, it.test))
            .collect();
        (!worse.is_empty()).then(|| {
            format!("{name}: these tests pass on Tokio and fail on Wakeful: {}", worse.join(", "))
        })
    }
}

impl Results {
    pub fn load(root: &Path) -> Result<Results, String> {
        let path = root.join(PATH);
        if !path.exists() {
            return Ok(Results::default());
        }
        Results::parse(&fs::read_to_string(&path).map_err(|e| failed("read", &path, &e))?)
    }

    pub fn set(&mut self, entry: &Entry, date: String, counts: Counts) {
        let run = Run { version: entry.version.clone(), date, counts };
        self.0.insert(entry.name.clone(), run);
    }

    /// Drops the crates that are not in the list any more.
    pub fn retain(&mut self, list: &[Entry]) {
        self.0.retain(|name, _| list.iter().any(|entry| entry.name == *name));
    }

    pub fn save(&self, root: &Path) -> Result<(), String> {
        let path = root.join(PATH);
        fs::write(&path, self.text()).map_err(|e| failed("write", &path, &e))
    }

    fn text(&self) -> String {
        let mut text = HEAD.to_owned();
        for (name, Run { version, date, counts }) in &self.0 {
            let Counts { both, neither, skipped, uncompiled, differences } = counts;
            text +=
                &format!("{name} {version} {date} both={both} neither={neither} skipped={skipped}");
            if !uncompiled.is_empty() {
                text += &format!(" uncompiled={}", uncompiled.join(","));
            }
            text.push('\n');
            for Difference { target, test, on_tokio, on_wakeful } in differences {
                text +=
                    &format!("    differs {target} {test} tokio={on_tokio} wakeful={on_wakeful}\n");
            }
        }
        text
    }

    fn parse(text: &str) -> Result<Results, String> {
        let mut results = Results::default();
        let mut last = None;
        for line in text.lines().filter(|line| !line.starts_with('#') && !line.is_empty()) {
            let wrong = || format!("{PATH}: cannot read `{line}`");
            let words: Vec<&str> = line.split_whitespace().collect();
            match words[..] {
                ["differs", target, test, on_tokio, on_wakeful] => {
                    let run = last.as_ref().and_then(|name| results.0.get_mut(name));
                    run.ok_or_else(wrong)?.counts.differences.push(Difference {
                        target: target.to_owned(),
                        test: test.to_owned(),
                        on_tokio: number(on_tokio, "tokio=").ok_or_else(wrong)?,
                        on_wakeful: number(on_wakeful, "wakeful=").ok_or_else(wrong)?,
                    });
                }
                [name, version, date, both, neither, skipped, ref rest @ ..] => {
                    let uncompiled = rest.iter().filter_map(|it| it.strip_prefix("uncompiled="));
                    let counts = Counts {
                        both: number(both, "both=").ok_or_else(wrong)?,
                        neither: number(neither, "neither=").ok_or_else(wrong)?,
                        skipped: number(skipped, "skipped=").ok_or_else(wrong)?,
                        uncompiled: uncompiled
                            .flat_map(|it| it.split(','))
                            .map(str::to_owned)
                            .collect(),
                        differences: Vec::new(),
                    };
                    let run = Run { version: version.to_owned(), date: date.to_owned(), counts };
                    results.0.insert(name.to_owned(), run);
                    last = Some(name.to_owned());
                }
                _ => return Err(wrong()),
            }
        }
        Ok(results)
    }
}

fn number<N: std::str::FromStr>(word: &str, name: &str) -> Option<N> {
    word.strip_prefix(name)?.parse().ok()
}
