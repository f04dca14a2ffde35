use std::path::PathBuf;

use super::*;
use crate::manifest::Manifest;

fn package(dir: &str, text: &str) -> Package {
    let manifest = Manifest::parse(text);
    Package { dir: dir.into(), name: manifest.package.clone().unwrap(), manifest }
}

#[test]
fn crates_are_published_unless_they_say_otherwise() {
    let packages = [
        package("crates/a", "[package]\nname = \"a\""),
        package("crates/b", "[package]\nname = \"b\"\npublish = false"),
        package("tour", "[package]\nname = \"tour\""),
    ];
    let names: Vec<&str> = published(&packages).iter().map(|p| p.name.as_str()).collect();
    assert_eq!(names, ["a"]);
}

#[test]
fn missing_keys_and_files_are_listed() {
    let text = "[package]\nname = \"a\"\nlicense.workspace = true\n\n[lints]\nkeywords = 1\n";
    let files = Files::from([(PathBuf::from("crates/a/Cargo.toml"), text.to_owned())]);
    let missing = missing(&package("crates/a", text), &files, Path::new("/nowhere"));
    assert!(missing.contains(&"keywords") && missing.contains(&"README.md"));
    assert!(!missing.contains(&"license"));
}
