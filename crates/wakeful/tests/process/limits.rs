//! Starting and watching children when no descriptors are left.

use crate::support::current_thread;
use crate::support::net::{exhaust_descriptors, is_child, open_descriptors, run_in_child};
use crate::support::signals::is_known;
use crate::support::{eventually, multi_thread};
use std::process::Stdio;
use wakeful::process::Command;

#[test]
fn without_descriptors_for_its_pipes_spawn_fails_and_later_succeeds() {
    if !is_child() {
        return run_in_child(
            "limits::without_descriptors_for_its_pipes_spawn_fails_and_later_succeeds",
        );
    }
    let runtime = multi_thread(1);
    runtime.block_on(async {
        let spare: Vec<_> = (0..20).map(|_| std::fs::File::open("/dev/null").unwrap()).collect();
        Command::new("true").status().await.unwrap();
        let before = open_descriptors();
        exhaust_descriptors();
        for _ in 0..10 {
            let mut command = Command::new("cat");
            command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
            let error = command.spawn().unwrap_err();
            assert_eq!(error.raw_os_error(), Some(libc::EMFILE));
            assert_eq!(Command::new("cat").output().await.unwrap_err().kind(), error.kind());
        }
        drop(spare);
        assert_eq!(open_descriptors(), before - 20);
        assert_eq!(Command::new("echo").arg("hi").output().await.unwrap().stdout, b"hi\n");
    });
}

/// Starting the child needs no descriptor of this process, and `SIGCHLD` reports its exit.
#[test]
fn without_a_descriptor_for_its_pidfd_a_child_is_waited_for() {
    if !is_child() {
        return run_in_child("limits::without_a_descriptor_for_its_pidfd_a_child_is_waited_for");
    }
    let runtimes = [current_thread(), multi_thread(2)];
    // The child inherits the limit but not these files, so it has descriptors left to open its
    // libraries.
    let _files: Vec<_> = (0..20).map(|_| std::fs::File::open("/dev/null").unwrap()).collect();
    exhaust_descriptors();
    for runtime in &runtimes {
        let orphan = runtime.block_on(async {
            for code in 0..10 {
                let mut command = Command::new("sh");
                let mut child = command.args(["-c", &format!("exit {code}")]).spawn().unwrap();
                assert_eq!(child.wait().await.unwrap().code(), Some(code));
            }
            // The reaper cannot be started without descriptors, so a thread of its own waits for
            // the orphan.
            Command::new("sleep").arg("0.05").spawn().unwrap().id().unwrap()
        });
        eventually("the orphan is waited for", || !is_known(orphan));
    }
}
