//! Values of console-api.

use std::time::{Duration, SystemTime};

use console_api::register_metadata::NewMetadata;
use console_api::{Attribute, Field, Id, Location, MetaId, Metadata, RegisterMetadata, field};
use prost_types::Timestamp;

/// What a task, a lock or an operation is. tokio-console shows the text as the target.
#[derive(Debug, Clone, Copy)]
pub enum Target {
    /// A task.
    Task = 1,
    /// A closure of `spawn_blocking`.
    Blocking = 2,
    /// A future of `block_on`.
    BlockOn = 3,
    /// A lock or a channel.
    Object = 4,
    /// What a task waits for.
    Wait = 5,
}

/// The targets, in the order of their numbers.
const TARGETS: [(Target, &str); 5] = [
    (Target::Task, "wakeful::task"),
    (Target::Blocking, "wakeful::task::blocking"),
    (Target::BlockOn, "wakeful::runtime::block_on"),
    (Target::Object, "wakeful::sync"),
    (Target::Wait, "wakeful::wait"),
];

impl Target {
    /// Returns the number of the target's metadata.
    pub fn id(self) -> MetaId {
        MetaId { id: self as u64 }
    }

    /// Returns a field of something with this target.
    pub fn field(self, name: &str, value: field::Value) -> Field {
        Field {
            name: Some(field::Name::StrName(name.to_owned())),
            value: Some(value),
            metadata_id: Some(self.id()),
        }
    }

    /// Returns an attribute of something with this target.
    pub fn attribute(self, name: &str, value: field::Value, unit: Option<&str>) -> Attribute {
        Attribute { field: Some(self.field(name, value)), unit: unit.map(str::to_owned) }
    }
}

/// Returns the metadata of all targets, which a client needs before anything else.
pub fn metadata() -> RegisterMetadata {
    let new = |(target, text): (Target, &str)| NewMetadata {
        id: Some(target.id()),
        metadata: Some(Metadata { target: text.to_owned(), ..Metadata::default() }),
    };
    RegisterMetadata { metadata: TARGETS.map(new).to_vec() }
}

/// Converts times of the program's clock.
#[derive(Debug, Clone, Copy)]
pub struct Clock {
    /// When the program's clock was zero.
    pub epoch: SystemTime,
}

impl Clock {
    /// Returns a time in microseconds of the program's clock as wall-clock time.
    pub fn at(self, time_us: u64) -> Timestamp {
        Timestamp::from(self.epoch + Duration::from_micros(time_us))
    }
}

/// Returns a time in microseconds.
pub fn duration(us: u64) -> prost_types::Duration {
    prost_types::Duration {
        seconds: (us / 1_000_000) as i64,
        nanos: (us % 1_000_000 * 1_000) as i32,
    }
}

/// Returns an id.
pub fn id(id: u64) -> Id {
    Id { id }
}

/// Parses a place in the code such as `src/db.rs:41:9`.
pub fn location(site: &str) -> Option<Location> {
    let mut parts = site.rsplitn(3, ':');
    let column = parts.next()?.parse().ok()?;
    let line = parts.next()?.parse().ok()?;
    let file = parts.next()?.to_owned();
    Some(Location { file: Some(file), module_path: None, line: Some(line), column: Some(column) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_site_has_a_file_a_line_and_a_column() {
        let parsed = location("src/a:b.rs:41:9").unwrap();
        assert_eq!(parsed.to_string(), "src/a:b.rs:41:9");
        assert_eq!((parsed.line, parsed.column), (Some(41), Some(9)));
        assert_eq!(location("src/db.rs"), None);
    }

    #[test]
    fn microseconds_are_split_into_seconds_and_nanoseconds() {
        let parts = duration(3_000_007);
        assert_eq!((parts.seconds, parts.nanos), (3, 7_000));
    }
}
