//! The contenders, and the cases that each of them has.

use crate::measure::{Sample, Scale};
use std::time::Duration;

/// A case as one contender runs it.
pub struct Case {
    /// `group/name`.
    pub name: &'static str,
    pub about: &'static str,
    /// The number of rounds in a full run.
    pub rounds: usize,
    /// How long a full sample takes by design.
    pub takes: Duration,
    /// Whether the process of the sample has a CPU quota.
    pub has_quota: bool,
    /// The metric that matters most, if that is not the first.
    headline: Option<&'static str>,
    /// Takes a sample. Called in a process of its own.
    pub run: fn(Scale) -> Sample,
}

impl Case {
    pub fn new(name: &'static str, about: &'static str, run: fn(Scale) -> Sample) -> Case {
        Case {
            name,
            about,
            rounds: 5,
            takes: Duration::ZERO,
            has_quota: false,
            headline: None,
            run,
        }
    }

    /// Sets the number of rounds, for figures that hardly change between processes.
    pub fn rounds(self, rounds: usize) -> Case {
        Case { rounds, ..self }
    }

    /// Sets how long a full sample takes by design, so that its contenders do not count as slow.
    pub fn takes(self, takes: Duration) -> Case {
        Case { takes, ..self }
    }

    /// Runs the sample under a CPU quota. Where none can be set, the case is skipped.
    pub fn under_quota(self) -> Case {
        Case { has_quota: true, ..self }
    }

    pub fn headline(self, metric: &'static str) -> Case {
        Case { headline: Some(metric), ..self }
    }

    /// Returns whether this metric, the `nth` of its sample, is the headline.
    pub fn is_about(&self, metric: &str, nth: usize) -> bool {
        self.headline.map_or(nth == 0, |headline| headline == metric)
    }

    pub fn group(&self) -> &'static str {
        split_name(self.name).0
    }

    pub fn short_name(&self) -> &'static str {
        split_name(self.name).1
    }
}

fn split_name(name: &'static str) -> (&'static str, &'static str) {
    name.split_once('/').expect("a case is named group/name")
}

pub struct Contender {
    pub name: &'static str,
    /// The contender with which its ratios compare it.
    pub baseline: Option<&'static str>,
    /// The crates whose versions identify the contender.
    pub packages: &'static [&'static str],
    /// Whether it runs only if selected by name.
    pub by_name_only: bool,
    cases: Vec<Case>,
}

impl Contender {
    pub fn new(name: &'static str, packages: &'static [&'static str]) -> Contender {
        Contender { name, baseline: None, packages, by_name_only: false, cases: Vec::new() }
    }

    pub fn against(self, baseline: &'static str) -> Contender {
        Contender { baseline: Some(baseline), ..self }
    }

    /// Makes the contender run only if selected by name: it answers a single question, and would
    /// only widen other tables.
    pub fn by_name_only(self) -> Contender {
        Contender { by_name_only: true, ..self }
    }

    pub fn with(mut self, cases: impl IntoIterator<Item = Case>) -> Contender {
        self.cases.extend(cases);
        self
    }

    /// Returns whether this is Wakeful, in any flavour.
    pub fn is_wakeful(&self) -> bool {
        self.name.starts_with("wakeful-")
    }

    #[cfg(test)]
    pub fn cases(&self) -> &[Case] {
        &self.cases
    }

    pub fn case(&self, name: &str) -> Option<&Case> {
        self.cases.iter().find(|case| case.name == name)
    }
}

pub struct Suite {
    pub contenders: Vec<Contender>,
}

impl Suite {
    pub fn contender(&self, name: &str) -> Option<&Contender> {
        self.contenders.iter().find(|contender| contender.name == name)
    }

    /// Returns every case of any contender, each once, group by group, in the order of the
    /// contenders' lists.
    pub fn catalogue(&self) -> Vec<&Case> {
        let mut groups: Vec<Vec<&Case>> = Vec::new();
        for case in self.contenders.iter().flat_map(|contender| &contender.cases) {
            match groups.iter_mut().find(|group| group[0].group() == case.group()) {
                None => groups.push(vec![case]),
                Some(group) if group.iter().all(|known| known.name != case.name) => {
                    group.push(case)
                }
                Some(_) => {}
            }
        }
        groups.into_iter().flatten().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn case(name: &'static str) -> Case {
        Case::new(name, "", |_| Vec::new())
    }

    #[test]
    fn catalogue_has_each_case_once_with_groups_together() {
        let suite = Suite {
            contenders: vec![
                Contender::new("a", &[]).with([case("x/1"), case("y/1")]),
                Contender::new("b", &[]).with([case("y/1"), case("x/2")]),
            ],
        };
        let names: Vec<_> = suite.catalogue().iter().map(|case| case.name).collect();
        assert_eq!(names, ["x/1", "x/2", "y/1"]);
    }
}
