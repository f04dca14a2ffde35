//! Helpers for tests that use sockets.

use std::io;
use wakeful::net::{TcpListener, TcpStream};

/// Opens a TCP connection over loopback. Returns the connecting end and the accepted end.
pub async fn tcp_pair() -> (TcpStream, TcpStream) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let client = TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
    let (server, peer) = listener.accept().await.unwrap();
    assert_eq!(peer, client.local_addr().unwrap());
    (client, server)
}

/// Returns a loopback address on which no socket listens.
pub fn refused_address() -> std::net::SocketAddr {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    listener.local_addr().unwrap()
}

/// Returns the number of open descriptors of this process.
pub fn open_descriptors() -> usize {
    // One of the entries is the descriptor of the listing itself.
    std::fs::read_dir("/proc/self/fd").unwrap().count() - 1
}

/// Raises the soft limit of descriptors to the hard limit, and returns it.
pub fn raise_descriptor_limit() -> u64 {
    let mut limit = descriptor_limit();
    limit.rlim_cur = limit.rlim_max;
    set_descriptor_limit(&limit);
    limit.rlim_cur
}

/// Lowers the limit of descriptors so that none can be opened until one below the highest is
/// closed.
pub fn exhaust_descriptors() {
    // The number of the duplicate is the lowest free one.
    // SAFETY: the duplicate is closed right away, and nothing else uses it.
    let next = unsafe {
        let next = libc::fcntl(0, libc::F_DUPFD, 0);
        libc::close(next);
        next
    };
    let mut limit = descriptor_limit();
    limit.rlim_cur = next as u64;
    set_descriptor_limit(&limit);
}

fn descriptor_limit() -> libc::rlimit {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: the pointer is to a live, writable local.
    assert_eq!(unsafe { libc::getrlimit(libc::RLIMIT_NOFILE, &mut limit) }, 0);
    limit
}

fn set_descriptor_limit(limit: &libc::rlimit) {
    // SAFETY: the pointer is to a live `rlimit`, which the call only reads.
    let result = unsafe { libc::setrlimit(libc::RLIMIT_NOFILE, limit) };
    assert_eq!(result, 0, "{}", io::Error::last_os_error());
}

/// Runs the test `name` of this program in a new process with `WAKEFUL_CHILD` set. Panics if the
/// test fails there.
pub fn run_in_child(name: &str) {
    let status = std::process::Command::new(std::env::current_exe().unwrap())
        .args(["--exact", name, "--nocapture", "--test-threads", "1"])
        .env("WAKEFUL_CHILD", name)
        .status()
        .unwrap();
    assert!(status.success(), "{name} failed in its child process: {status}");
}

/// Returns whether this process was started by [`run_in_child`].
pub fn is_child() -> bool {
    std::env::var_os("WAKEFUL_CHILD").is_some()
}
