use std::path::PathBuf;
use std::time::{Duration, SystemTime};
use std::{env, fs, process};

use super::{released_tokio, tokio_built_since};

#[test]
fn a_release_of_tokio_is_recognized_by_its_folder() {
    let list =
        "/t/debug/deps/tokio-1a.d: /r/tokio-1.54.1/src/lib.rs /r/tokio-1.54.1/src/io/mod.rs\n";
    assert_eq!(released_tokio(list), Some(PathBuf::from("/r/tokio-1.54.1")));
    let ours = "/t/debug/deps/tokio-1a.d: /wakeful/crates/tokio-drop-in/src/lib.rs\n";
    assert_eq!(released_tokio(ours), None);
    assert_eq!(released_tokio("x: /r/tokio-0.2.25/src/lib.rs\n"), None);
}

#[test]
fn only_builds_of_this_call_count_with_and_without_a_platform() {
    let target = env::temp_dir().join(format!("cargo-wakeful-built-{}", process::id()));
    let start = SystemTime::now() - Duration::from_secs(10);
    for deps in ["debug/deps", "some-platform/release/deps"] {
        let deps = target.join(deps);
        fs::create_dir_all(&deps).unwrap();
        fs::write(deps.join("tokio-1a.d"), "x: /r/tokio-1.54.1/src/lib.rs\n").unwrap();
        assert_eq!(tokio_built_since(start, &target), Some(PathBuf::from("/r/tokio-1.54.1")));
        let later = SystemTime::now() + Duration::from_secs(10);
        assert_eq!(tokio_built_since(later, &target), None);
        fs::remove_dir_all(&target).unwrap();
    }
}
