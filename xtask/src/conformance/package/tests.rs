use super::super::suites::Suite;
use super::manifest;
use crate::json::Json;
use crate::manifest::Manifest;

const SUITE: Suite = Suite::new("clock", "1.2.3", &["full"]);

const PUBLISHED: &str = r#"{
    "features": {
        "default": [], "full": ["hands", "gears", "bell/loud"], "hands": [], "case": [],
        "gears": ["dep:gears"]
    },
    "dependencies": [
        {"name": "gears", "req": "^2", "kind": null, "optional": true, "rename": null,
         "uses_default_features": true, "features": ["oiled"], "target": null},
        {"name": "tick", "req": "^0.1", "kind": "dev", "optional": false, "rename": "tock",
         "uses_default_features": false, "features": [], "target": "cfg(unix)"},
        {"name": "cc", "req": "^1", "kind": "build", "optional": false, "rename": null,
         "uses_default_features": true, "features": [], "target": null},
        {"name": "clock", "req": "^1", "kind": "dev", "optional": false, "rename": null,
         "uses_default_features": true, "features": [], "target": null}
    ]
}"#;

#[test]
fn the_manifest_has_the_dependencies_of_the_published_tests() {
    let text = manifest(&SUITE, &Json::parse(PUBLISHED).unwrap());
    assert!(text.contains("default = [\"full\", \"hands\"]\n"), "{text}");
    assert!(text.contains("[dev-dependencies.clock]\nversion = \"=1.2.3\"\n"), "{text}");
    assert_eq!(text.matches("clock]").count(), 1, "{text}");
    assert!(text.contains("[target.\"cfg(unix)\".dev-dependencies.tock]\npackage = \"tick\""));
    assert!(text.contains("features = [\"oiled\"]"));
    assert!(!text.contains("cc") && !text.contains("optional"));
    let names: Vec<_> = Manifest::parse(&text).dependencies.into_keys().collect();
    assert_eq!(names, ["gears"]);
}
