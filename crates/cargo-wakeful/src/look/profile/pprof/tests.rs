use std::time::{Duration, UNIX_EPOCH};

use super::{LENGTH, VARINT, encode};
use crate::look::profile::stacks::{Frame, Profile, Sample, Time};

/// The value of a field.
#[derive(Debug, Clone, PartialEq)]
enum Value {
    Number(u64),
    Bytes(Vec<u8>),
}

/// Reads a varint, and returns it with the rest.
fn varint(bytes: &[u8]) -> (u64, &[u8]) {
    let len = bytes.iter().position(|byte| byte & 0x80 == 0).expect("the end of a varint") + 1;
    let (number, rest) = bytes.split_at(len);
    (number.iter().rev().fold(0, |all, byte| all << 7 | u64::from(byte & 0x7f)), rest)
}

/// Reads the fields of a message.
fn fields(mut bytes: &[u8]) -> Vec<(u64, Value)> {
    let mut fields = Vec::new();
    while !bytes.is_empty() {
        let (key, rest) = varint(bytes);
        let (number, rest) = varint(rest);
        let (value, rest) = match key & 7 {
            VARINT => (Value::Number(number), rest),
            LENGTH => {
                let (inner, rest) = rest.split_at(number as usize);
                (Value::Bytes(inner.to_vec()), rest)
            }
            other => panic!("wire type {other}"),
        };
        fields.push((key >> 3, value));
        bytes = rest;
    }
    fields
}

fn messages(bytes: &[u8], field: u64) -> Vec<Vec<u8>> {
    let of_field = fields(bytes).into_iter().filter(|it| it.0 == field);
    of_field
        .map(|it| match it.1 {
            Value::Bytes(bytes) => bytes,
            Value::Number(number) => panic!("field {field} is the number {number}"),
        })
        .collect()
}

fn number(bytes: &[u8], field: u64) -> u64 {
    match fields(bytes).into_iter().find(|it| it.0 == field) {
        Some((_, Value::Number(number))) => number,
        None => 0,
        Some((_, Value::Bytes(bytes))) => panic!("field {field} is {bytes:?}"),
    }
}

fn packed(bytes: &[u8], field: u64) -> Vec<u64> {
    let inner = messages(bytes, field).concat();
    let (mut rest, mut numbers) = (inner.as_slice(), Vec::new());
    while !rest.is_empty() {
        let (number, after) = varint(rest);
        numbers.push(number);
        rest = after;
    }
    numbers
}

/// A profile as a reader of pprof sees it.
struct Read {
    bytes: Vec<u8>,
    texts: Vec<String>,
}

impl Read {
    fn new(profile: &Profile) -> Read {
        let bytes = encode(profile, UNIX_EPOCH + Duration::from_secs(7));
        let texts = messages(&bytes, 6).into_iter().map(|it| String::from_utf8(it).unwrap());
        Read { texts: texts.collect(), bytes }
    }

    fn text(&self, number: u64) -> &str {
        &self.texts[number as usize]
    }

    fn sample_types(&self) -> Vec<(&str, &str)> {
        let types = messages(&self.bytes, 1);
        types.iter().map(|it| (self.text(number(it, 1)), self.text(number(it, 2)))).collect()
    }

    /// Returns each sample's stack, innermost first, as `name file:line`, and its values.
    fn samples(&self) -> Vec<(Vec<String>, Vec<u64>)> {
        let samples = messages(&self.bytes, 2);
        let stack = |it: &[u8]| packed(it, 1).into_iter().map(|id| self.frame(id)).collect();
        samples.iter().map(|it| (stack(it), packed(it, 2))).collect()
    }

    fn frame(&self, id: u64) -> String {
        let with_id = |field, id| {
            let mut found = messages(&self.bytes, field);
            found.retain(|it| number(it, 1) == id);
            assert_eq!(found.len(), 1, "field {field} with id {id}");
            found.remove(0)
        };
        let line = messages(&with_id(4, id), 4).remove(0);
        let function = with_id(5, number(&line, 1));
        let (name, file) = (self.text(number(&function, 2)), self.text(number(&function, 4)));
        format!("{name} {file}:{}", number(&line, 2))
    }
}

fn frame(name: &str, line: u64) -> Frame {
    Frame { name: name.into(), file: Some("src/conn.rs".into()), line }
}

fn profile(times: Vec<Time>, samples: Vec<Sample>) -> Profile {
    Profile {
        times,
        samples,
        us: 2_500_000,
        workers_us: 0,
        asked: 1,
        unknown_us: 0,
        remarks: vec![],
    }
}

#[test]
fn a_reader_gets_back_stacks_and_values() {
    let mutex = Frame::named("a mutex");
    let sample = |time, stack, us| Sample { time, stack, us, polls: 3 };
    let read = Read::new(&profile(
        vec![Time::Busy, Time::Waiting],
        vec![
            sample(Time::Busy, vec![Frame::of_site("src/db.rs:41:9")], 70),
            sample(Time::Waiting, vec![frame("serve", 44), mutex.clone()], 1_200),
            sample(Time::Waiting, vec![frame("serve", 300), mutex], u64::MAX / 1000),
        ],
    ));
    assert_eq!(read.sample_types(), [("busy", "nanoseconds"), ("waiting", "nanoseconds")]);
    let stack = |frames: &[&str]| frames.iter().map(|it| it.to_string()).collect::<Vec<_>>();
    let expected = [
        (stack(&["src/db.rs:41:9 src/db.rs:41"]), vec![70_000, 0]),
        (stack(&["a mutex :0", "serve src/conn.rs:44"]), vec![0, 1_200_000]),
        (stack(&["a mutex :0", "serve src/conn.rs:300"]), vec![0, u64::MAX / 1000 * 1000]),
    ];
    assert_eq!(read.samples(), expected);
    assert_eq!(read.texts[0], "", "the string table begins with the empty text");
    assert_eq!(messages(&read.bytes, 5).len(), 3, "a function at two lines is one function");
    assert_eq!(number(&read.bytes, 9), 7_000_000_000, "when it began");
    assert_eq!(number(&read.bytes, 10), 2_500_000_000, "how long it took");
    assert_eq!(read.text(number(&read.bytes, 14)), "busy");
}

#[test]
fn one_kind_of_time_is_one_value_per_sample() {
    let stack = vec![frame("serve", 1)];
    let sample = Sample { time: Time::Waiting, stack, us: 9, polls: 0 };
    let read = Read::new(&profile(vec![Time::Waiting], vec![sample]));
    assert_eq!(read.sample_types(), [("waiting", "nanoseconds")]);
    assert_eq!(read.samples()[0].1, [9_000]);
}
