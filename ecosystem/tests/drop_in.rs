//! Tests that the crates run on Wakeful. All other tests of this package would pass on Tokio too.

use std::any::type_name;

#[test]
fn types_of_tokio_are_wakefuls() {
    let runtime = type_name::<tokio::runtime::Runtime>();
    assert!(runtime.starts_with("wakeful"), "{runtime}");
    let socket = type_name::<tokio::net::TcpStream>();
    assert!(socket.starts_with("wakeful"), "{socket}");
}

#[test]
fn types_that_other_crates_take_from_tokio_are_wakefuls() {
    let accepted = type_name::<<tokio::net::TcpListener as axum::serve::Listener>::Io>();
    assert!(accepted.starts_with("wakeful"), "{accepted}");
}

/// The environment variable alone makes a program that only uses Tokio's API print where it blocks.
#[test]
fn environment_variable_alone_prints_stalls() {
    const NAME: &str = "environment_variable_alone_prints_stalls";
    const CHILD: &str = "WAKEFUL_STALLS_CHILD";
    if std::env::var_os(CHILD).is_some() {
        let runtime = tokio::runtime::Runtime::new().unwrap();
        let blocks = async { std::thread::sleep(std::time::Duration::from_millis(200)) };
        runtime.block_on(runtime.spawn(blocks)).unwrap();
        return;
    }
    let child = std::process::Command::new(std::env::current_exe().unwrap())
        .args(["--exact", NAME, "--nocapture"])
        .env(CHILD, "1")
        .env("WAKEFUL_STALL_REPORT", "1")
        .output()
        .unwrap();
    let printed = String::from_utf8_lossy(&child.stderr);
    let stall = printed.lines().find(|line| line.starts_with("wakeful: task "));
    let stall = stall.unwrap_or_else(|| panic!("{printed}"));
    assert!(stall.contains(&format!("spawned at {}:", file!())), "{stall}");
}

/// The crates that link a second copy would run on a runtime of its own.
#[test]
fn no_other_tokio_is_in_the_lock_file() {
    let lock_file = include_str!("../../Cargo.lock");
    let tokios: Vec<&str> = lock_file
        .split("[[package]]")
        .filter(|entry| entry.contains("\nname = \"tokio\"\n"))
        .collect();
    assert_eq!(tokios.len(), 1);
    assert!(!tokios[0].contains("\nsource ="), "from a registry:{}", tokios[0]);
}
