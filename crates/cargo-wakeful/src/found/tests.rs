use std::path::Path;

use semver::Version;
use serde_json::json;

use super::{all_called_tokio, the_one_that_stays};
use crate::drop_in::DropIn;

#[test]
fn ours_is_told_from_others_by_its_folder() {
    let drop_in = DropIn {
        dir: "/wakeful/crates/tokio-drop-in".into(),
        version: Version::new(1, 54, 1),
        features: Vec::new(),
    };
    let tokio = |version: &str, dir: &str| json!({ "name": "tokio", "version": version, "manifest_path": dir });
    let ours = tokio("1.54.1", "/wakeful/crates/tokio-drop-in/Cargo.toml");
    let copy = tokio("1.54.1", "/copy/Cargo.toml");
    let old = tokio("0.2.25", "/old/Cargo.toml");
    let replaced = json!({ "packages": [ours, old] });
    assert!(the_one_that_stays(&replaced, &drop_in).is_none());
    assert_eq!(all_called_tokio(&replaced).len(), 2);
    let both = json!({ "packages": [ours, copy] });
    assert_eq!(the_one_that_stays(&both, &drop_in).unwrap().dir, Path::new("/copy"));
}
