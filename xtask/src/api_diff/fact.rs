//! A fact about a name of the API, and when another fact satisfies it.

use std::collections::BTreeSet;
use std::fmt;

use super::crates::Item;

#[cfg(test)]
mod tests;

/// A fact about a name.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Fact {
    /// The signature without its bounds.
    pub text: String,
    /// The bounds, one by one.
    predicates: BTreeSet<String>,
    /// Attributes with an effect on users' programs.
    marks: BTreeSet<&'static str>,
    is_impl: bool,
    is_negative: bool,
}

impl Fact {
    pub fn new(text: impl Into<String>) -> Fact {
        Fact {
            text: text.into(),
            predicates: BTreeSet::new(),
            marks: BTreeSet::new(),
            is_impl: false,
            is_negative: false,
        }
    }

    /// Returns the fact that a type does not implement a trait, for any parameters.
    pub fn not_implemented() -> Fact {
        Fact { is_negative: true, ..Fact::new("not implemented") }
    }

    pub fn with(mut self, predicates: BTreeSet<String>) -> Fact {
        self.predicates.extend(predicates);
        self
    }

    /// Marks the fact as one about a trait implementation.
    pub fn of_impl(mut self) -> Fact {
        self.is_impl = true;
        self
    }

    /// Adds the attributes of `item`, except `track_caller`, which Tokio's own tests check.
    pub fn marked(mut self, item: Item<'_>) -> Fact {
        for (attribute, mark) in
            [("must_use", "#[must_use]"), ("non_exhaustive", "#[non_exhaustive]")]
        {
            self.marks.extend(item.has_attribute(attribute).then_some(mark));
        }
        self.marks.extend((!item.json["deprecation"].is_null()).then_some("#[deprecated]"));
        self
    }

    /// Returns whether a program that relies on `wanted` also compiles with this fact. Weaker
    /// bounds and additional implementations are allowed.
    pub fn meets(&self, wanted: &Fact) -> bool {
        if wanted.is_negative {
            return true;
        }
        let predicates_meet = if self.is_impl {
            requires_no_more(&self.predicates, &wanted.predicates)
        } else {
            self.predicates == wanted.predicates
        };
        self.text == wanted.text && self.marks == wanted.marks && predicates_meet
    }
}

/// Returns whether `predicates` are no stronger than `wanted`. `?Sized` is the only bound that
/// weakens.
fn requires_no_more(predicates: &BTreeSet<String>, wanted: &BTreeSet<String>) -> bool {
    let waives = |predicate: &&String| predicate.contains(": ?");
    let asked = predicates.iter().filter(|predicate| !waives(predicate));
    let waived = wanted.iter().filter(waives);
    asked.into_iter().all(|predicate| wanted.contains(predicate))
        && waived.into_iter().all(|predicate| predicates.contains(predicate))
}

impl fmt::Display for Fact {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)?;
        for (position, predicate) in self.predicates.iter().enumerate() {
            write!(f, "{} {predicate}", if position == 0 { " where" } else { "," })?;
        }
        for mark in &self.marks {
            write!(f, " {mark}")?;
        }
        Ok(())
    }
}
