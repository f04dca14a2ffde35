//! The program replaces the driver's own descriptors. I/O fails with a clear error, everything else
//! keeps working, and nothing hangs.
#![cfg(target_os = "linux")]

mod support;

use std::fs::{self, File};
use std::io;
use std::os::fd::{AsRawFd, RawFd};
use std::sync::Mutex;
use std::time::Duration;
use support::{current_thread, multi_thread, within};
use wakeful::net::TcpListener;
use wakeful::runtime::Runtime;
use wakeful::time::{sleep, timeout};

/// The tests find a runtime's descriptors by comparing those before and after its creation, so only
/// one test may run at a time.
static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

fn descriptors(kind: &str) -> Vec<RawFd> {
    let kind = format!("anon_inode:[{kind}]");
    let open = fs::read_dir("/proc/self/fd").unwrap().filter_map(|entry| {
        let entry = entry.ok()?;
        let is_wanted = fs::read_link(entry.path()).ok()?.to_str()? == kind;
        is_wanted.then(|| entry.file_name().to_str()?.parse().ok())?
    });
    open.collect()
}

/// Creates a runtime. Returns it with its descriptors of `kind`.
fn make(kind: &str, make: fn() -> Runtime) -> (Runtime, Vec<RawFd>) {
    let before = descriptors(kind);
    let runtime = make();
    let new = descriptors(kind).into_iter().filter(|fd| !before.contains(fd)).collect::<Vec<_>>();
    (runtime, new)
}

/// Replaces the file behind `fd` with a read-only one.
fn replace(fd: RawFd) {
    let null = File::open("/dev/null").unwrap();
    // SAFETY: `dup2` accesses no memory of this process. It breaks the I/O safety of the
    // descriptor's owner on purpose: the driver must cope with that.
    assert!(unsafe { libc::dup2(null.as_raw_fd(), fd) } >= 0);
}

fn assert_fails(result: io::Result<impl Sized>) {
    let error = result.err().expect("I/O fails");
    assert!(error.to_string().contains("I/O driver of the runtime"), "{error}");
}

async fn all_but_io_works() {
    let task = wakeful::spawn(async {
        sleep(Duration::from_millis(5)).await;
        wakeful::task::spawn_blocking(|| 2).await.unwrap()
            + wakeful::spawn(async { 3 }).await.unwrap()
    });
    let limit = timeout(Duration::from_millis(5), std::future::pending::<()>());
    assert!(limit.await.is_err());
    assert_eq!(task.await.unwrap(), 5);
}

fn with_each_flavor(test: fn(fn() -> Runtime)) {
    let _alone = ONE_AT_A_TIME.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    for make in [current_thread, || multi_thread(1), || multi_thread(4)] {
        within(Duration::from_secs(30), move || test(make));
    }
}

#[test]
fn only_io_fails_if_the_epoll_descriptor_is_replaced() {
    with_each_flavor(|how| {
        let (runtime, epolls) = make("eventpoll", how);
        assert!(!epolls.is_empty());
        let listener = runtime.block_on(TcpListener::bind("127.0.0.1:0")).unwrap();
        let address = listener.local_addr().unwrap();
        let accepts = runtime.spawn(async move { listener.accept().await.map(drop) });
        runtime.block_on(all_but_io_works());
        epolls.into_iter().for_each(replace);
        for _ in 0..3 {
            runtime.block_on(all_but_io_works());
        }
        assert_fails(runtime.block_on(accepts).unwrap());
        assert_fails(runtime.block_on(TcpListener::bind(address)));
        drop(runtime);
    });
}

#[test]
fn only_io_fails_if_the_eventfd_is_replaced() {
    with_each_flavor(|how| {
        // The first runtime of a process also creates the eventfd for signals, which stays open.
        drop(how());
        let (runtime, eventfds) = make("eventfd", how);
        assert!(!eventfds.is_empty());
        let listener = runtime.block_on(TcpListener::bind("127.0.0.1:0")).unwrap();
        let accepts = runtime.spawn(async move { listener.accept().await.map(drop) });
        runtime.block_on(all_but_io_works());
        eventfds.into_iter().for_each(replace);
        for _ in 0..3 {
            runtime.block_on(all_but_io_works());
            // Interrupts a wait in the driver from another thread.
            let (send, receive) = wakeful::sync::oneshot::channel();
            let waits = runtime.spawn(receive);
            std::thread::sleep(Duration::from_millis(5));
            send.send(7).unwrap();
            assert_eq!(runtime.block_on(waits).unwrap(), Ok(7));
        }
        // On the current-thread runtime, no wait may have needed an interrupt from another thread.
        if runtime.handle().runtime_flavor() == wakeful::runtime::RuntimeFlavor::MultiThread {
            assert_fails(runtime.block_on(accepts).unwrap());
        }
        drop(runtime);
    });
}
