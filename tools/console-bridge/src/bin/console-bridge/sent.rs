//! What a client has been told, to tell it only what is new.

use std::collections::HashMap;

use prost_types::Timestamp;

/// The figures of a task, a lock or an operation.
pub trait Stats: Clone + PartialEq {
    /// When it was created.
    fn created_at(&mut self) -> &mut Option<Timestamp>;

    /// When it ended.
    fn dropped_at(&mut self) -> &mut Option<Timestamp>;
}

macro_rules! stats {
    ($($module:ident),*) => {$(
        impl Stats for console_api::$module::Stats {
            fn created_at(&mut self) -> &mut Option<Timestamp> {
                &mut self.created_at
            }

            fn dropped_at(&mut self) -> &mut Option<Timestamp> {
                &mut self.dropped_at
            }
        }
    )*};
}

stats!(tasks, resources, async_ops);

/// What a client knows of all things of one kind, by their ids.
#[derive(Debug)]
pub struct Sent<S> {
    known: HashMap<u64, Known<S>>,
    /// The number of looks so far.
    looks: u64,
}

#[derive(Debug)]
struct Known<S> {
    stats: S,
    /// The last look that has found it.
    seen: u64,
}

impl<S> Default for Sent<S> {
    fn default() -> Sent<S> {
        Sent { known: HashMap::new(), looks: 0 }
    }
}

impl<S: Stats> Sent<S> {
    /// Begins a look.
    pub fn begin(&mut self) {
        self.looks += 1;
    }

    /// Returns the figures that the client has been told.
    pub fn get(&self, id: u64) -> Option<&S> {
        self.known.get(&id).map(|known| &known.stats)
    }

    /// Notes that this look has found it. Returns its figures if the client does not know them.
    pub fn note(&mut self, id: u64, mut stats: S) -> Option<S> {
        if let Some(known) = self.known.get_mut(&id) {
            known.seen = self.looks;
            // A time that is computed from an age differs a little in each look.
            *stats.created_at() = *known.stats.created_at();
            if known.stats == stats {
                return None;
            }
            known.stats = stats.clone();
        } else {
            self.known.insert(id, Known { stats: stats.clone(), seen: self.looks });
        }
        Some(stats)
    }

    /// Ends a look. Returns the last figures of what is gone: what this look has not found, or, if
    /// it may have overlooked some, neither this look nor the one before.
    pub fn end(&mut self, is_whole: bool, now: Timestamp) -> HashMap<u64, S> {
        let oldest = if is_whole { self.looks } else { self.looks.saturating_sub(1) };
        let gone = self.known.extract(|known| known.seen < oldest);
        let dropped = gone.into_iter().map(|(id, mut known)| {
            *known.stats.dropped_at() = Some(now);
            (id, known.stats)
        });
        dropped.collect()
    }
}

trait Extract<V> {
    /// Removes and returns the entries for which `is_wanted` returns true.
    fn extract(&mut self, is_wanted: impl Fn(&V) -> bool) -> Vec<(u64, V)>;
}

impl<V> Extract<V> for HashMap<u64, V> {
    fn extract(&mut self, is_wanted: impl Fn(&V) -> bool) -> Vec<(u64, V)> {
        let wanted = self.iter().filter(|(_, value)| is_wanted(value));
        let ids: Vec<u64> = wanted.map(|(&id, _)| id).collect();
        ids.into_iter().filter_map(|id| Some((id, self.remove(&id)?))).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use console_api::resources::Stats as Figures;

    fn at(seconds: i64) -> Option<Timestamp> {
        Some(Timestamp { seconds, nanos: 0 })
    }

    fn created(seconds: i64) -> Figures {
        Figures { created_at: at(seconds), ..Figures::default() }
    }

    #[test]
    fn only_changes_are_told() {
        let mut sent = Sent::default();
        sent.begin();
        assert_eq!(sent.note(7, created(1)), Some(created(1)));
        sent.begin();
        assert_eq!(sent.note(7, created(2)), None, "only the time of its creation differs");
        let attributes = vec![console_api::Attribute::default()];
        let changed = Figures { attributes, ..created(2) };
        let told = sent.note(7, changed).unwrap();
        assert_eq!((told.created_at, told.attributes.len()), (at(1), 1));
    }

    #[test]
    fn what_is_gone_is_dropped_once() {
        let mut sent = Sent::default();
        sent.begin();
        sent.note(7, created(1));
        sent.begin();
        let dropped = sent.end(true, at(5).unwrap());
        assert_eq!(dropped[&7], Figures { dropped_at: at(5), ..created(1) });
        sent.begin();
        assert!(sent.end(true, at(6).unwrap()).is_empty() && sent.get(7).is_none());
    }

    #[test]
    fn what_one_look_may_have_overlooked_is_not_gone() {
        let mut sent = Sent::default();
        sent.begin();
        sent.note(7, created(1));
        sent.begin();
        assert!(sent.end(false, at(5).unwrap()).is_empty());
        sent.begin();
        assert_eq!(sent.end(false, at(6).unwrap()).len(), 1);
    }
}
