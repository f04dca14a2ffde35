use std::collections::BTreeSet;

use super::super::crates::Crates;
use super::super::public::Public;
use super::Surface;

/// Returns a crate with the items of `index`, of which the first must be the root, and the paths
/// `paths`.
fn described(index: &str, paths: &str) -> String {
    format!(r#"{{"root": 0, "format_version": 57, "index": {{{index}}}, "paths": {{{paths}}}}}"#)
}

fn module(id: u8, name: &str, items: &str) -> String {
    item(id, name, "public", &format!(r#"{{"module": {{"items": [{items}]}}}}"#))
}

fn item(id: u8, name: &str, visibility: &str, inner: &str) -> String {
    format!(
        r#""{id}": {{"id": {id}, "crate_id": 0, "name": "{name}", "visibility": "{visibility}",
        "attrs": [], "deprecation": null, "inner": {inner}}}"#
    )
}

const NO_GENERICS: &str = r#""generics": {"params": [], "where_predicates": []}"#;

/// Returns a function without parameters in the crate's root.
fn function(id: u8, name: &str, output: &str) -> String {
    let inner = format!(
        r#"{{"function": {{"sig": {{"inputs": [], "output": {output}}}, {NO_GENERICS},
        "header": {{"abi": "Rust"}}, "has_body": true}}}}"#
    );
    item(id, name, "public", &inner)
}

fn path(id: u8, krate: u8, parts: &str, kind: &str) -> String {
    format!(r#""{id}": {{"crate_id": {krate}, "path": {parts}, "kind": "{kind}"}}"#)
}

fn surface(crates: &[(&str, &str)]) -> Surface {
    let crates = Crates::from_texts(crates);
    let public = Public::of(&crates, "tokio").unwrap();
    Surface::of(&crates, &public, &BTreeSet::new())
}

fn texts(of: &Surface, other: &Surface) -> Vec<String> {
    of.differences(other).into_iter().map(|difference| difference.text).collect()
}

const U8: &str = r#"{"primitive": "u8"}"#;
const U16: &str = r#"{"primitive": "u16"}"#;

#[test]
fn missing_and_different_items_are_found() {
    let tokio = [module(0, "tokio", "1, 2"), function(1, "same", U8), function(2, "other", U8)];
    let ours = [module(0, "tokio", "1, 3"), function(1, "same", U16), function(3, "more", U8)];
    let tokio = surface(&[("tokio", &described(&tokio.join(","), ""))]);
    let ours = surface(&[("tokio", &described(&ours.join(","), ""))]);
    assert_eq!(
        texts(&tokio, &ours),
        [
            "missing: tokio::other",
            "differs: tokio::same\n    Tokio: fn() -> u8\n    here:  fn() -> u16"
        ]
    );
    assert_eq!(ours.extras(&tokio), ["tokio::more"]);
    assert!(texts(&tokio, &tokio).is_empty());
}

#[test]
fn re_exports_are_followed_into_other_crates() {
    let tokio = [module(0, "tokio", "1"), function(1, "run", U8)];
    let tokio = surface(&[("tokio", &described(&tokio.join(","), ""))]);
    let re_export = r#"{"use": {"name": "run", "id": 7, "is_glob": false}}"#;
    let drop_in = [module(0, "tokio", "1"), item(1, "", "public", re_export)];
    let drop_in =
        described(&drop_in.join(","), &path(7, 5, r#"["wakeful", "inside", "go"]"#, "function"));
    let wakeful = described(
        &[module(0, "wakeful", "2"), function(4, "go", U8)].join(","),
        &path(4, 0, r#"["wakeful", "inside", "go"]"#, "function"),
    );
    let ours = surface(&[("tokio", &drop_in), ("wakeful", &wakeful)]);
    assert!(texts(&tokio, &ours).is_empty());
}

#[test]
fn types_have_their_public_names() {
    let named = |id: u8| {
        let ty = format!(r#"{{"resolved_path": {{"path": "X", "id": {id}, "args": null}}}}"#);
        function(1, "run", &ty)
    };
    let structure = |id| {
        item(
            id,
            "Thing",
            "public",
            &format!(r#"{{"struct": {{"kind": "unit", {NO_GENERICS}, "impls": []}}}}"#),
        )
    };
    let tokio = [module(0, "tokio", "1, 2"), named(2), structure(2)];
    let tokio = described(&tokio.join(","), &path(2, 0, r#"["tokio", "Thing"]"#, "struct"));
    let re_export = r#"{"use": {"name": "Thing", "id": 4, "is_glob": false}}"#;
    let ours =
        [module(0, "tokio", "1, 3"), named(4), item(3, "", "public", re_export), structure(4)];
    let ours =
        described(&ours.join(","), &path(4, 0, r#"["tokio", "private", "ThingState"]"#, "struct"));
    assert!(texts(&surface(&[("tokio", &tokio)]), &surface(&[("tokio", &ours)])).is_empty());
}

#[test]
fn private_items_are_ignored() {
    let hidden = function(1, "inner", U8).replace(r#""public""#, r#""crate""#);
    let tokio = [module(0, "tokio", "1"), hidden];
    let tokio = surface(&[("tokio", &described(&tokio.join(","), ""))]);
    assert_eq!(tokio.count(), 0);
}
