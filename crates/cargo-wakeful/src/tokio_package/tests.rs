use std::path::Path;

use semver::Version;
use serde_json::json;

use super::{tokio_packages, unreplaced_tokio};
use crate::drop_in::DropIn;

#[test]
fn the_drop_in_is_recognized_by_its_folder() {
    let drop_in = DropIn {
        dir: "/wakeful/crates/tokio-drop-in".into(),
        version: Version::new(1, 54, 1),
        features: Vec::new(),
        wakeful_version: None,
        rust_version: None,
    };
    let tokio = |version: &str, dir: &str| json!({ "name": "tokio", "version": version, "manifest_path": dir });
    let ours = tokio("1.54.1", "/wakeful/crates/tokio-drop-in/Cargo.toml");
    let copy = tokio("1.54.1", "/copy/Cargo.toml");
    let old = tokio("0.2.25", "/old/Cargo.toml");
    let replaced = json!({ "packages": [ours, old] });
    assert!(unreplaced_tokio(&replaced, &drop_in).is_none());
    assert_eq!(tokio_packages(&replaced).len(), 2);
    let both = json!({ "packages": [ours, copy] });
    assert_eq!(unreplaced_tokio(&both, &drop_in).unwrap().dir, Path::new("/copy"));
}
