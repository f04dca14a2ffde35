//! Who can run what: the contenders, and the cases each of them has.

use crate::measure::{Sample, Scale};

/// One case as one contender runs it.
pub struct Case {
    /// `group/name`.
    pub name: &'static str,
    pub about: &'static str,
    /// Rounds in a full run.
    pub rounds: usize,
    /// The metric the case is about, if that is not the first.
    headline: Option<&'static str>,
    /// Called once in a process of its own.
    pub run: fn(Scale) -> Sample,
}

impl Case {
    pub fn new(name: &'static str, about: &'static str, run: fn(Scale) -> Sample) -> Case {
        Case { name, about, rounds: 5, headline: None, run }
    }

    /// For figures that hardly change from one process to the next.
    pub fn rounds(self, rounds: usize) -> Case {
        Case { rounds, ..self }
    }

    pub fn headline(self, metric: &'static str) -> Case {
        Case { headline: Some(metric), ..self }
    }

    /// Whether the case is about this metric, which is the `nth` of its sample.
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
    /// Whom its ratios compare it with.
    pub baseline: Option<&'static str>,
    /// The crates whose versions tell which contender this was.
    pub packages: &'static [&'static str],
    /// Runs only where it is asked for.
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

    /// For one that answers a single question, and would only make other tables wider.
    pub fn by_name_only(self) -> Contender {
        Contender { by_name_only: true, ..self }
    }

    pub fn with(mut self, cases: impl IntoIterator<Item = Case>) -> Contender {
        self.cases.extend(cases);
        self
    }

    /// The one this is all about, in any of its flavours.
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

    /// Every case that any contender has, once each, group by group, in the order contenders name them.
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
