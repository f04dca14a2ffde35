use std::collections::BTreeSet;

use super::super::crates::Crates;
use super::super::public::Public;
use super::{Scope, Writer};
use crate::json::Json;

const EMPTY: &str = r#"{"root": 0, "format_version": 57, "paths": {}, "index": {"0": {"id": 0,
    "crate_id": 0, "name": "tokio", "visibility": "public", "inner": {"module": {"items": []}}}}}"#;

/// Returns the texts of the parameters, the function and the bounds of a `function` that rustdoc
/// describes.
fn written(function: &str) -> String {
    let crates = Crates::from_texts(&[("tokio", EMPTY)]);
    let public = Public::of(&crates, "tokio").unwrap();
    let preferred = BTreeSet::new();
    let scope = Scope { crates: &crates, public: &public, preferred: &preferred };
    let mut writer = Writer::new(scope, "tokio");
    writer.set_self("Me");
    let function = Json::parse(function).unwrap();
    let parameters = writer.parameters(&function["generics"]);
    let text = writer.function(&function);
    let predicates: Vec<String> = writer.predicates(&function["generics"]).into_iter().collect();
    format!("{parameters}{text} {}", predicates.join(", "))
}

fn reference(lifetime: &str, to: &str) -> String {
    format!(
        r#"{{"borrowed_ref": {{"lifetime": {lifetime}, "is_mutable": false,
        "type": {{"generic": "{to}"}}}}}}"#
    )
}

fn function(params: &str, bounds: &str, inputs: &str, output: &str, is_async: bool) -> String {
    format!(
        r#"{{"generics": {{"params": [{params}], "where_predicates": [{bounds}]}},
        "sig": {{"inputs": [{inputs}], "output": {output}}},
        "header": {{"is_async": {is_async}, "abi": "Rust"}}}}"#
    )
}

#[test]
fn elided_lifetimes_equal_explicit_ones() {
    let lifetime = r#"{"name": "'x", "kind": {"lifetime": {"outlives": []}}}"#;
    let named = reference(r#""'x""#, "Self");
    let elided = reference("null", "Self");
    let named = function(lifetime, "", &format!(r#"["self", {named}]"#), &named, false);
    let elided = function("", "", &format!(r#"["self", {elided}]"#), &elided, false);
    assert_eq!(written(&named), written(&elided));
    assert_eq!(written(&elided), "fn(self: &'0 Me) -> &'0 Me ");
}

#[test]
fn parameters_are_compared_by_order_and_bounds_in_any_place() {
    let bound = |name: &str| {
        format!(r#"{{"trait_bound": {{"trait": {{"path": "{name}", "id": 9, "args": null}}}}}}"#)
    };
    let param = |name: &str, bounds: &str| {
        format!(r#"{{"name": "{name}", "kind": {{"type": {{"bounds": [{bounds}]}}}}}}"#)
    };
    let clause = |name: &str, bound: &str| {
        format!(
            r#"{{"bound_predicate": {{"type": {{"generic": "{name}"}}, "bounds": [{bound}]}}}}"#
        )
    };
    let inputs =
        |a: &str, b: &str| format!(r#"["a", {{"generic": "{a}"}}], ["b", {{"generic": "{b}"}}]"#);
    let inline = [param("A", &[bound("Send"), bound("Clone")].join(",")), param("B", "")].join(",");
    let inline = function(&inline, "", &inputs("A", "B"), "null", false);
    let params = [param("X", ""), param("Y", "")].join(",");
    let clauses = [clause("X", &bound("Clone")), clause("X", &bound("Send"))].join(",");
    let apart = function(&params, &clauses, &inputs("X", "Y"), "null", false);
    assert_eq!(written(&inline), written(&apart));
    assert_eq!(written(&apart), "<T0, T1>fn(T0, T1) -> () T0: Clone, T0: Send");
    let swapped = function(&params, &clauses, &inputs("Y", "X"), "null", false);
    assert_ne!(written(&swapped), written(&apart));
}

#[test]
fn an_async_function_equals_one_that_returns_a_future() {
    let function = function("", "", "", r#"{"primitive": "u8"}"#, true);
    assert_eq!(written(&function), "fn() -> impl core::future::future::Future<Output = u8> ");
}
