//! A program installs a seccomp filter while its runtime runs and relies on `membarrier` to suspend
//! leases on workers. When the calls start to fail, workers no longer keep tasks local.
//!
//! There is a single test, because the filter applies to the whole process.
#![cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]

mod support;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread::sleep;
use std::time::Duration;
use support::{multi_thread, seccomp};
use wakeful::task::yield_now;

/// Makes polls short for a while, then queues eight tasks behind one that blocks until they have
/// all run, for `patience` at most. Returns whether they have run.
async fn tasks_behind_a_block_run(patience: Duration) -> bool {
    for _ in 0..1_000 {
        yield_now().await;
    }
    let (done, waits) = mpsc::channel();
    let blocks =
        wakeful::spawn(
            async move { waits.recv_timeout(patience) != Err(RecvTimeoutError::Timeout) },
        );
    let left = Arc::new(AtomicUsize::new(8));
    for _ in 0..8 {
        let (done, left) = (done.clone(), left.clone());
        wakeful::spawn(async move {
            if left.fetch_sub(1, SeqCst) == 1 {
                // The receiver is gone if the blocking task has given up.
                let _ = done.send(());
            }
        });
    }
    let has_run = blocks.await.unwrap();
    drop(done);
    has_run
}

#[test]
fn no_task_is_kept_local_once_membarrier_fails() {
    let runtime = multi_thread(2);
    assert!(
        runtime.block_on(runtime.spawn(tasks_behind_a_block_run(Duration::from_secs(20)))).unwrap()
    );
    seccomp::forbid(libc::SYS_membarrier, libc::EPERM);
    // Gives the monitor the time to notice that `membarrier` fails.
    runtime.block_on(runtime.spawn(async { sleep(Duration::from_millis(300)) })).unwrap();
    for _ in 0..50 {
        let tried = runtime.spawn(tasks_behind_a_block_run(Duration::from_secs(5)));
        assert!(runtime.block_on(tried).unwrap());
    }
}
