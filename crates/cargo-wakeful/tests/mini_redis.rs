//! Runs the tests of a published program on Wakeful, and checks that its files are unchanged.

mod common;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use common::{Folder, contents, stderr, stdout};

const VERSION: &str = "0.4.1";

/// A test that fails on Tokio 1.54.1 too: with the clock paused, the key expires before its first
/// read.
const FAILS_ON_TOKIO_TOO: &str = "key_value_timeout";

/// Downloads the crate with cargo, and returns the path of its sources.
fn published(folder: &Folder) -> PathBuf {
    folder.write("fetch/src/lib.rs", "");
    let head = "[package]\nname = 'fetch'\nversion = '0.1.0'\nedition = '2021'\n";
    folder.write("fetch/Cargo.toml", &format!("{head}[dependencies]\nmini-redis = '={VERSION}'\n"));
    let metadata = Command::new(env!("CARGO"))
        .args(["metadata", "--format-version=1", "--manifest-path"])
        .arg(folder.path("fetch/Cargo.toml"))
        .output()
        .unwrap();
    let metadata: serde_json::Value = serde_json::from_slice(&metadata.stdout)
        .unwrap_or_else(|_| panic!("{}", stderr(&metadata)));
    let packages = metadata["packages"].as_array().unwrap();
    let package = packages.iter().find(|package| package["name"] == "mini-redis").unwrap();
    Path::new(package["manifest_path"].as_str().unwrap()).parent().unwrap().to_owned()
}

fn copy_tree(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let path = entry.unwrap().path();
        let copy = to.join(path.file_name().unwrap());
        if path.is_dir() {
            copy_tree(&path, &copy);
        } else {
            fs::copy(&path, &copy).unwrap();
        }
    }
}

#[test]
fn mini_redis_passes_its_tests_on_wakeful() {
    let folder = Folder::new("mini-redis");
    let program = folder.path("mini-redis");
    copy_tree(&published(&folder), &program);
    let before = contents(&program);
    // Kept between runs of this test, to build only once.
    let target_dir = Path::new(env!("CARGO_TARGET_TMPDIR")).join("mini-redis");
    let output = folder
        .wakeful(&["test", "--quiet", "--", "--skip", FAILS_ON_TOKIO_TOO])
        .current_dir(&program)
        .env("CARGO_TARGET_DIR", target_dir)
        .env("CARGO_PROFILE_DEV_DEBUG", "0")
        .output()
        .unwrap();
    assert!(output.status.success(), "{}{}", stdout(&output), stderr(&output));
    for of_one_file in ["1 passed", "4 passed", "5 passed"] {
        assert!(stdout(&output).contains(of_one_file), "{}", stdout(&output));
    }
    assert_eq!(contents(&program), before);
}
