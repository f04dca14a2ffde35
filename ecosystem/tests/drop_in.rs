//! All of this package would pass on Tokio too: here is what shows that it is not Tokio.

use std::any::type_name;

#[test]
fn types_of_tokio_are_ours() {
    let runtime = type_name::<tokio::runtime::Runtime>();
    assert!(runtime.starts_with("wakeful"), "{runtime}");
    let socket = type_name::<tokio::net::TcpStream>();
    assert!(socket.starts_with("wakeful"), "{socket}");
}

#[test]
fn types_that_other_crates_take_from_tokio_are_ours() {
    let accepted = type_name::<<tokio::net::TcpListener as axum::serve::Listener>::Io>();
    assert!(accepted.starts_with("wakeful"), "{accepted}");
}

/// A program that knows of nothing but Tokio tells where it blocks, if its environment asks for that.
#[test]
fn the_environment_alone_has_stalls_printed() {
    const NAME: &str = "the_environment_alone_has_stalls_printed";
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

/// A second copy would serve those who asked for it with a runtime of its own.
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
