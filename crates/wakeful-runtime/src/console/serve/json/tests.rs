use super::*;
use std::process::id;

fn text(text: &str) -> Value<'static> {
    Value::Text(text.into())
}

#[test]
fn requests_are_flat_objects() {
    let line = br#" { "id" : 7.50e1,"get":"tasks", "all":false,"on":true , "none":"" } "#;
    let request = Object::parse(line).unwrap();
    assert_eq!(request.raw("id"), Some("7.50e1"));
    assert_eq!(request.get("id"), Some(&Value::Number("7.50e1")));
    assert_eq!(request.get("get"), Some(&text("tasks")));
    assert_eq!(request.get("all"), Some(&Value::Bool(false)));
    assert_eq!(request.get("on"), Some(&Value::Bool(true)));
    assert_eq!((request.get("none"), request.get("other")), (Some(&text("")), None));
    assert_eq!(Object::parse(b"{}\r"), Ok(Object { members: Vec::new() }));
    let escapes = br#"{"a":"\"\\\/\b\f\n\r\t\u00e9\ud83d\ude00 \u4e2d","\u0062":-0}"#;
    let request = Object::parse(escapes).unwrap();
    assert_eq!(request.get("a"), Some(&text("\"\\/\u{8}\u{c}\n\r\t\u{e9}\u{1f600} \u{4e2d}")));
    assert_eq!(request.raw("b"), Some("-0"));
}

#[test]
fn what_is_no_flat_object_is_refused() {
    for line in [
        &b""[..],
        b" ",
        b"{",
        b"}",
        b"[]",
        b"null",
        b"{}{}",
        b"{,}",
        b"{\"a\"}",
        b"{\"a\":}",
        b"{\"a\":1,}",
        b"{\"a\":1 \"b\":2}",
        b"{a:1}",
        b"{\"a\":null}",
        b"{\"a\":{}}",
        b"{\"a\":[1]}",
        b"{\"a\":tru}",
        b"{\"a\":01}",
        b"{\"a\":1.}",
        b"{\"a\":.5}",
        b"{\"a\":+1}",
        b"{\"a\":-}",
        b"{\"a\":1e}",
        b"{\"a\":\"}",
        b"{\"a\":\"\t\"}",
        b"{\"a\":\"\\x\"}",
        b"{\"a\":\"\\u12g4\"}",
        b"{\"a\":\"\\ud800\"}",
        b"{\"a\":\"\\ud800\\u0041\"}",
        b"{\"a\":\"\\udc00\"}",
        b"{\"a\":\"\\",
        b"{\"a\":\"\xff\"}",
        b"\xef\xbb\xbf{}",
        b"{\"a\":1\0}",
    ] {
        let result = Object::parse(line);
        assert!(result.is_err(), "{:?} is {result:?}", String::from_utf8_lossy(line));
    }
}

/// Lines that are made at random, of whole requests, pieces of them and any bytes.
#[test]
fn the_parser_survives_garbage_and_reads_what_the_writer_writes() {
    const PIECES: [&str; 20] = [
        "{",
        "}",
        "\"",
        ":",
        ",",
        "\\",
        "\\u",
        "d83d",
        "\\ude00",
        "true",
        "false",
        "-1",
        "0.5e+3",
        "[",
        "null",
        " ",
        "\u{e9}",
        "\u{1f600}",
        "\0",
        "\"get\":\"tasks\"",
    ];
    let mut random = 0x9e37_79b9_7f4a_7c15 ^ u64::from(id());
    let mut next = |bound: usize| {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        (random % bound as u64) as usize
    };
    for _ in 0..20_000 {
        let mut line = Vec::new();
        for _ in 0..next(12) {
            match next(8) {
                0 => line.push(next(256) as u8),
                _ => line.extend_from_slice(PIECES[next(PIECES.len())].as_bytes()),
            }
        }
        if let Ok(object) = Object::parse(&line) {
            let written = write(&object);
            let again = Object::parse(written.as_bytes()).unwrap();
            assert_eq!(values(&again), values(&object), "{written}");
        }
        // A valid object of random strings, cut off anywhere.
        let mut string = String::new();
        for _ in 0..next(6) {
            string.extend(char::from_u32(next(0x11_0000) as u32));
            string.push((next(40)) as u8 as char);
        }
        let object = Object { members: vec![(string.clone(), Value::Text(string), "")] };
        let written = write(&object);
        let again = Object::parse(written.as_bytes()).unwrap();
        assert_eq!(values(&again), values(&object), "{written}");
        let cut = next(written.len());
        assert!(Object::parse(&written.as_bytes()[..cut]).is_err());
    }
}

fn write(object: &Object<'_>) -> String {
    let mut json = Writer::default();
    json.open('{');
    for (name, value, _) in &object.members {
        match value {
            Value::Text(text) => json.text_member(name, text),
            Value::Number(number) => json.name(name).raw(number),
            Value::Bool(value) => json.bool_member(name, *value),
        }
    }
    json.close('}');
    json.finish()
}

fn values<'a>(object: &'a Object<'_>) -> Vec<(&'a str, &'a Value<'a>)> {
    object.members.iter().map(|member| (&*member.0, &member.1)).collect()
}

#[test]
fn the_writer_places_commas_and_escapes() {
    let mut json = Writer::default();
    json.open('{').number_member("a", u64::MAX);
    json.name("b").open('[').number(0);
    json.number(10);
    json.open('[').close(']');
    json.open('{').close('}');
    json.close(']');
    json.name("c").address(0);
    json.name("d").address(0x7f03_a8c0_1230);
    json.text_member("e", "\"\\\n\0\x1f\u{7f}\u{e9}");
    json.name("f").raw("[]");
    json.bool_member("g", true);
    json.close('}');
    assert_eq!(
        json.finish(),
        "{\"a\":18446744073709551615,\"b\":[0,10,[],{}],\"c\":\"0\",\"d\":\"7f03a8c01230\",\
         \"e\":\"\\\"\\\\\\n\\u0000\\u001f\u{7f}\u{e9}\",\"f\":[],\"g\":true}"
    );
}
