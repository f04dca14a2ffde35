use std::path::Path;

use semver::Version;
use serde_json::{Value, json};

use super::{explain, explain_none};
use crate::drop_in::DropIn;
use crate::tokio_package::TokioPackage;

const CRATES_IO: &str = "registry+https://github.com/rust-lang/crates.io-index";

fn ours() -> DropIn {
    DropIn {
        dir: "/wakeful/crates/tokio-drop-in".into(),
        version: Version::new(1, 54, 1),
        features: vec!["rt".to_owned(), "full".to_owned()],
        wakeful_version: None,
        rust_version: None,
    }
}

fn found(source: Option<&str>) -> TokioPackage<'_> {
    TokioPackage { version: Version::new(1, 40, 0), source, dir: Path::new("/copy/of/tokio") }
}

fn explained(source: Option<&str>, dependencies: Value, cargo_error: Option<&str>) -> String {
    let metadata = json!({ "packages": [{ "name": "server", "dependencies": dependencies }] });
    explain(&metadata, &found(source), &ours(), cargo_error)
}

#[test]
fn an_unmet_version_requirement_is_named_with_its_dependent() {
    let asks = json!([{ "name": "tokio", "req": "=1.40.0", "features": ["rt"] }]);
    let text = explained(Some(CRATES_IO), asks, Some("cargo's words"));
    assert!(text.contains("Tokio 1.40.0 could not be replaced"), "{text}");
    assert!(
        text.contains("`server` requires tokio `=1.40.0`, which 1.54.1 does not satisfy"),
        "{text}"
    );
    assert!(!text.contains("feature"), "{text}");
}

#[test]
fn a_missing_feature_is_named_with_its_dependent() {
    let asks = json!([{ "name": "tokio", "req": "^1", "features": ["rt", "novel"] }]);
    let text = explained(Some(CRATES_IO), asks, None);
    assert!(text.contains("`server` requires tokio's feature `novel`"), "{text}");
}

#[test]
fn a_requirement_of_another_tokio_version_is_not_reported() {
    let asks = json!([{ "name": "tokio", "req": "^0.2", "features": ["rt-core"] }]);
    let text = explained(Some(CRATES_IO), asks, Some("error: the real one\n"));
    assert!(text.contains("error: the real one") && !text.contains("rt-core"), "{text}");
}

#[test]
fn a_tokio_from_git_a_folder_or_another_registry_is_explained() {
    let git = Some("git+https://github.com/tokio-rs/tokio?branch=master#0123456789");
    let text = explained(git, json!([]), None);
    assert!(text.contains("[patch.\"https://github.com/tokio-rs/tokio\"]"), "{text}");
    let text = explained(None, json!([]), None);
    assert!(text.contains("/copy/of/tokio"), "{text}");
    let text = explained(Some("registry+https://crates.example/index"), json!([]), None);
    assert!(text.contains("another registry"), "{text}");
}

#[test]
fn a_program_without_tokio_is_explained() {
    assert!(explain_none(&[], &ours()).contains("does not use Tokio"));
    let old = TokioPackage { version: Version::new(0, 2, 25), ..found(Some(CRATES_IO)) };
    assert!(explain_none(&[old], &ours()).contains("uses tokio 0.2.25"));
}
