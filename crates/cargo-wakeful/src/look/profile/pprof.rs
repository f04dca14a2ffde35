//! The format of pprof, which also other tools read: a message of protocol buffers,
//! `profile.proto`. It is written here by hand: it needs numbers, and nested messages with their
//! length.

use std::collections::HashMap;
use std::time::{SystemTime, UNIX_EPOCH};

use super::stacks::{Frame, Profile};

#[cfg(test)]
mod tests;

/// The numbers of the fields of a `Profile`.
mod field {
    pub const SAMPLE_TYPE: u64 = 1;
    pub const SAMPLE: u64 = 2;
    pub const LOCATION: u64 = 4;
    pub const FUNCTION: u64 = 5;
    pub const STRING_TABLE: u64 = 6;
    pub const TIME_NANOS: u64 = 9;
    pub const DURATION_NANOS: u64 = 10;
    pub const DEFAULT_SAMPLE_TYPE: u64 = 14;
}

/// Returns the message. Readers accept it without the usual compression.
pub fn encode(profile: &Profile, began: SystemTime) -> Vec<u8> {
    let mut message = Message::default();
    let mut tables = Tables::default();
    let unit = tables.text("nanoseconds");
    for time in &profile.times {
        let mut value_type = Message::default();
        value_type.number(1, tables.text(time.name()));
        value_type.number(2, unit);
        message.message(field::SAMPLE_TYPE, &value_type);
    }
    for sample in &profile.samples {
        // The innermost frame first.
        let ids: Vec<u64> = sample.stack.iter().rev().map(|it| tables.location(it)).collect();
        let nanos = sample.us.saturating_mul(1000);
        let value = |&time| if time == sample.time { nanos } else { 0 };
        let values: Vec<u64> = profile.times.iter().map(value).collect();
        let mut inner = Message::default();
        inner.packed(1, &ids);
        inner.packed(2, &values);
        message.message(field::SAMPLE, &inner);
    }
    let began = began.duration_since(UNIX_EPOCH).unwrap_or_default();
    message.number(field::TIME_NANOS, began.as_nanos() as u64);
    message.number(field::DURATION_NANOS, profile.us.saturating_mul(1000));
    if let Some(time) = profile.times.first() {
        message.number(field::DEFAULT_SAMPLE_TYPE, tables.text(time.name()));
    }
    message.bytes.extend(tables.written.bytes);
    tables.texts.iter().for_each(|text| message.text(field::STRING_TABLE, text));
    message.bytes
}

/// What samples name by number. Numbers of locations and functions begin at one.
struct Tables {
    /// The string table, which begins with the empty text.
    texts: Vec<String>,
    text_numbers: HashMap<String, u64>,
    functions: HashMap<(String, Option<String>), u64>,
    locations: HashMap<Frame, u64>,
    /// The messages of functions and locations.
    written: Message,
}

impl Default for Tables {
    fn default() -> Tables {
        Tables {
            texts: vec![String::new()],
            text_numbers: HashMap::from([(String::new(), 0)]),
            functions: HashMap::new(),
            locations: HashMap::new(),
            written: Message::default(),
        }
    }
}

impl Tables {
    fn text(&mut self, text: &str) -> u64 {
        if let Some(&number) = self.text_numbers.get(text) {
            return number;
        }
        let number = self.texts.len() as u64;
        self.texts.push(text.to_owned());
        self.text_numbers.insert(text.to_owned(), number);
        number
    }

    fn function(&mut self, frame: &Frame) -> u64 {
        let key = (frame.name.clone(), frame.file.clone());
        if let Some(&id) = self.functions.get(&key) {
            return id;
        }
        let id = self.functions.len() as u64 + 1;
        self.functions.insert(key, id);
        let name = self.text(&frame.name);
        let file = self.text(frame.file.as_deref().unwrap_or_default());
        let mut function = Message::default();
        // The name is that of the source and of the symbol: fields 2 and 3.
        for (field, value) in [(1, id), (2, name), (3, name), (4, file)] {
            function.number(field, value);
        }
        self.written.message(field::FUNCTION, &function);
        id
    }

    fn location(&mut self, frame: &Frame) -> u64 {
        if let Some(&id) = self.locations.get(frame) {
            return id;
        }
        let id = self.locations.len() as u64 + 1;
        self.locations.insert(frame.clone(), id);
        let function = self.function(frame);
        let (mut line, mut location) = (Message::default(), Message::default());
        line.number(1, function);
        line.number(2, frame.line);
        location.number(1, id);
        location.message(4, &line);
        self.written.message(field::LOCATION, &location);
        id
    }
}

/// The bytes of a message of protocol buffers.
#[derive(Default)]
struct Message {
    bytes: Vec<u8>,
}

/// How the value of a field is written.
const VARINT: u64 = 0;
const LENGTH: u64 = 2;

impl Message {
    fn varint(&mut self, mut value: u64) {
        while value > 0x7f {
            self.bytes.push(value as u8 | 0x80);
            value >>= 7;
        }
        self.bytes.push(value as u8);
    }

    /// Writes a number. Zero is the default, and left out.
    fn number(&mut self, field: u64, value: u64) {
        if value != 0 {
            self.varint(field << 3 | VARINT);
            self.varint(value);
        }
    }

    fn with_length(&mut self, field: u64, bytes: &[u8]) {
        self.varint(field << 3 | LENGTH);
        self.varint(bytes.len() as u64);
        self.bytes.extend_from_slice(bytes);
    }

    fn message(&mut self, field: u64, inner: &Message) {
        self.with_length(field, &inner.bytes);
    }

    fn text(&mut self, field: u64, text: &str) {
        self.with_length(field, text.as_bytes());
    }

    fn packed(&mut self, field: u64, values: &[u64]) {
        let mut inner = Message::default();
        values.iter().for_each(|&value| inner.varint(value));
        self.message(field, &inner);
    }
}
