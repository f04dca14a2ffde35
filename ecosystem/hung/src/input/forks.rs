//! A program that forks without `exec`. The child goes on for two seconds.

use tokio::runtime::Runtime;
use tokio::task::spawn_blocking;

/// Forks, and returns the child's process id.
fn fork() -> libc::pid_t {
    // SAFETY: the child of a process with several threads may only call what a signal handler may:
    // it calls `nanosleep` and `_exit`.
    unsafe {
        let child = libc::fork();
        if child == 0 {
            let pause = libc::timespec { tv_sec: 0, tv_nsec: 10_000_000 };
            // A signal ends a sleep early.
            for _ in 0..200 {
                libc::nanosleep(&pause, std::ptr::null_mut());
            }
            libc::_exit(7);
        }
        child
    }
}

/// Waits for the child's end, and says how it ended.
fn wait_for(child: libc::pid_t) {
    let mut status = 0;
    // SAFETY: `status` may be written to.
    assert_eq!(unsafe { libc::waitpid(child, &mut status, 0) }, child);
    match libc::WIFEXITED(status) {
        true => println!("child exited with {}", libc::WEXITSTATUS(status)),
        false => println!("child ended by signal {}", libc::WTERMSIG(status)),
    }
}

pub fn run(runtime: Runtime) {
    runtime.block_on(async {
        let child = fork();
        assert!(child > 0, "cannot fork");
        println!("ready");
        spawn_blocking(move || wait_for(child)).await.unwrap();
        std::future::pending::<()>().await;
    });
}
