//! The messages that a child sends to its parent, one per line.

use crate::workload::Outcome;
use std::fmt;

/// Whether an operation ran before the fault, under it, or after it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Phase {
    Before,
    During,
    After,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event {
    /// The folder of the child, for the parent to remove.
    Folder(String),
    /// An operation has begun.
    Begun(String),
    /// An operation has ended.
    Outcome(Phase, String, Outcome),
    /// Whether the parent is to stop and continue the child repeatedly.
    StopsWanted(bool),
    /// The number of hand-offs so far.
    HandOffs(u64),
    /// The child has finished.
    Done,
}

const PHASES: [(&str, Phase); 3] =
    [("before", Phase::Before), ("during", Phase::During), ("after", Phase::After)];

impl fmt::Display for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let one_line = |text: &str| text.replace('\n', " ");
        match self {
            Event::Folder(folder) => write!(f, "folder\t{folder}"),
            Event::Begun(name) => write!(f, "begun\t{name}"),
            Event::Outcome(phase, name, outcome) => {
                let phase = PHASES.iter().find(|(_, known)| known == phase);
                let phase = phase.map_or("", |(name, _)| name);
                match outcome {
                    Outcome::Works => write!(f, "{phase}\t{name}\tworks\t"),
                    Outcome::Error(why) => write!(f, "{phase}\t{name}\terror\t{}", one_line(why)),
                    Outcome::Panic(why) => write!(f, "{phase}\t{name}\tpanic\t{}", one_line(why)),
                }
            }
            Event::StopsWanted(are) => write!(f, "stops\t{are}"),
            Event::HandOffs(count) => write!(f, "handoffs\t{count}"),
            Event::Done => write!(f, "done"),
        }
    }
}

impl Event {
    /// Parses a line. Returns `None` if it is not a message.
    pub fn parse(line: &str) -> Option<Event> {
        let mut parts = line.splitn(4, '\t');
        let first = parts.next()?;
        let name = parts.next().unwrap_or_default().to_owned();
        Some(match first {
            "folder" => Event::Folder(name),
            "begun" => Event::Begun(name),
            "stops" => Event::StopsWanted(name.parse().ok()?),
            "handoffs" => Event::HandOffs(name.parse().ok()?),
            "done" => Event::Done,
            _ => {
                let (_, phase) = PHASES.iter().find(|(known, _)| *known == first)?;
                let outcome = match parts.next()? {
                    "works" => Outcome::Works,
                    "error" => Outcome::Error(parts.next()?.to_owned()),
                    "panic" => Outcome::Panic(parts.next()?.to_owned()),
                    _ => return None,
                };
                Event::Outcome(*phase, name, outcome)
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_parse_as_they_were_printed() {
        let works = Event::Outcome(Phase::Before, "new runtime".into(), Outcome::Works);
        let panics = Outcome::Panic("a: b\tc".into());
        let panics = Event::Outcome(Phase::During, "timers".into(), panics);
        let events = [
            Event::Folder("/tmp/x".into()),
            Event::Begun("tcp".into()),
            works,
            panics,
            Event::StopsWanted(true),
            Event::HandOffs(7),
            Event::Done,
        ];
        for event in events {
            assert_eq!(Event::parse(&event.to_string()), Some(event));
        }
        assert_eq!(Event::parse("thread 'main' panicked"), None);
    }
}
