use super::*;

#[test]
fn a_call_that_does_not_unwind_returns_its_result() {
    assert_eq!(abort_on_unwind("a test", || 7), 7);
}

// Miri starts no processes.
#[cfg(not(miri))]
#[test]
fn a_panic_of_the_runtime_aborts_with_a_message() {
    use std::env;
    use std::process::Command;

    /// Tells a child process to run the half of the test that aborts.
    const CHILD: &str = "WAKEFUL_ABORTING_CHILD";

    if env::var_os(CHILD).is_some() {
        return abort_on_unwind("the loop of a test", || panic!("an invariant is broken"));
    }
    let test = "catch_panic::tests::a_panic_of_the_runtime_aborts_with_a_message";
    let child = Command::new(env::current_exe().unwrap())
        .args(["--exact", test, "--nocapture"])
        .env(CHILD, "1")
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&child.stderr);
    assert_eq!(child.status.code(), None, "the process is ended by a signal: {text}");
    assert!(text.contains("an invariant is broken"), "{text}");
    assert!(text.contains("wakeful: a panic in the loop of a test"), "{text}");
}
