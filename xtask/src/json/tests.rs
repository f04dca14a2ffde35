use super::{Json, quoted};

#[test]
fn reads_nested_values() {
    let json =
        Json::parse(r#" {"a": [1, -2.5e3, true, null], "b": {"c": "d"}, "e": {}} "#).unwrap();
    assert_eq!(json["a"].items().len(), 4);
    assert_eq!(json["a"].items()[1].number(), Some("-2.5e3"));
    assert!(json["a"].items()[2].is_true());
    assert_eq!(json["b"]["c"].text(), "d");
    assert_eq!(json["e"].fields().count(), 0);
}

#[test]
fn missing_values_are_null() {
    let json = Json::parse(r#"{"a": "text"}"#).unwrap();
    assert!(json["b"]["c"]["d"].is_null());
    assert!(json["a"]["b"].is_null());
    assert!(json["a"].items().is_empty());
}

#[test]
fn undoes_escapes() {
    let json = Json::parse(r#""a\n\"\\\/\t\u00fc\ud83d\ude00""#).unwrap();
    assert_eq!(json.text(), "a\n\"\\/\tü😀");
}

#[test]
fn quoted_strings_can_be_read_back() {
    let text = "one\ntwo \"three\" \\ \u{1} ü";
    assert_eq!(Json::parse(&quoted(text)).unwrap().text(), text);
}

#[test]
fn an_enum_is_an_object_with_one_field_or_a_string() {
    let json = Json::parse(r#"[{"struct": {"name": "S"}}, "unit"]"#).unwrap();
    let (kind, inner) = json.items()[0].variant();
    assert_eq!((kind, inner["name"].text()), ("struct", "S"));
    assert_eq!(json.items()[1].variant().0, "unit");
}

#[test]
fn invalid_json_is_refused() {
    for text in ["", "{", "[1 2]", "{\"a\" 1}", "\"open", "nul", "{} x", r#""\ud83d""#, r#""\u12""#]
    {
        assert!(Json::parse(text).is_err(), "{text}");
    }
}
