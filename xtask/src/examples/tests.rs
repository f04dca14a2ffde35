use super::{has_example, items_without_example};
use crate::api_diff::crates::Crates;
use crate::api_diff::public::Public;

/// Returns an item of the crate's root; `inner` is its kind.
fn item(id: u8, name: &str, attrs: &str, docs: &str, inner: &str) -> String {
    format!(
        r#""{id}": {{"id": {id}, "crate_id": 0, "name": "{name}", "visibility": "public",
        "attrs": [{attrs}], "docs": "{docs}", "inner": {inner}}}"#
    )
}

fn paths_without(items: &[String], ids: &str) -> (usize, Vec<String>) {
    let root = item(0, "wakeful", "", "", &format!(r#"{{"module": {{"items": [{ids}]}}}}"#));
    let index = format!("{root}, {}", items.join(", "));
    let krate = format!(r#"{{"root": 0, "index": {{{index}}}, "paths": {{}}}}"#);
    let crates = Crates::from_texts(&[("wakeful", &krate)]);
    let public = Public::of(&crates, "wakeful").unwrap();
    let (count, without) = items_without_example(&public);
    (count, without.into_iter().map(str::to_owned).collect())
}

#[test]
fn types_and_functions_without_a_running_example_are_found() {
    let items = [
        item(1, "shown", "", r"Does it.\n\n```\nshown();\n```", r#"{"function": {}}"#),
        item(2, "Bare", "", "Is it.", r#"{"struct": {}}"#),
        item(3, "drawn", "", r"Draws.\n\n```text\n()\n```", r#"{"macro": {}}"#),
    ];
    assert_eq!(
        paths_without(&items, "1, 2, 3"),
        (3, vec!["wakeful::Bare".to_owned(), "wakeful::drawn".to_owned()])
    );
}

#[test]
fn hidden_items_and_constants_need_no_example() {
    let items = [
        item(1, "inner", r##""#[doc(hidden)]""##, "", r#"{"function": {}}"#),
        item(2, "MAX", "", "The most.", r#"{"constant": {}}"#),
    ];
    assert_eq!(paths_without(&items, "1, 2"), (0, vec![]));
}

#[test]
fn only_code_blocks_that_run_count() {
    assert!(has_example("```\nf();\n```"));
    assert!(has_example("```text\n-->\n```\n\n```rust\nf();\n```"));
    assert!(has_example("```should_panic\nf();\n```"));
    assert!(!has_example("No block."));
    assert!(!has_example("```no_run\nf();\n```"));
    assert!(!has_example("```text\n-->\n```\nand\n```toml\na = 1\n```"));
}
