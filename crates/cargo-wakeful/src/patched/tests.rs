use semver::Version;
use serde_json::json;

use super::{all_called_tokio, in_the_way, the_one_that_stays};
use crate::drop_in::DropIn;

#[test]
fn a_locked_version_that_is_in_the_way_is_read_from_cargos_words() {
    let words = "error: failed to select a version for `thread_local`.\n\
        all possible versions conflict with previously selected packages.\n\n  \
        previously selected package `thread_local v1.1.3`\n    \
        ... which satisfies dependency `thread_local = \"^1.0.1\"` (locked to 1.1.3) of package `a v0.2.19`\n  \
        previously selected package `tokio v1.8.1`\n";
    assert_eq!(in_the_way(words).collect::<Vec<_>>(), ["thread_local@1.1.3"]);
    assert_eq!(in_the_way("error: no such thing").count(), 0);
}

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
    assert_eq!(the_one_that_stays(&both, &drop_in).unwrap().dir, std::path::Path::new("/copy"));
}
