//! What the tests of sockets need.

use std::io;
use wakeful::net::{TcpListener, TcpStream};

/// Two ends of a TCP connection over loopback: the one that connected, and the one that was accepted.
pub async fn tcp_pair() -> (TcpStream, TcpStream) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let client = TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
    let (server, peer) = listener.accept().await.unwrap();
    assert_eq!(peer, client.local_addr().unwrap());
    (client, server)
}

/// An address of loopback where nobody listens.
pub fn refused_address() -> std::net::SocketAddr {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    listener.local_addr().unwrap()
}

/// How many descriptors this process has open.
pub fn open_descriptors() -> usize {
    // One of them is that of the listing itself.
    std::fs::read_dir("/proc/self/fd").unwrap().count() - 1
}

/// Lets the process have as many descriptors as it may, and returns how many that are.
pub fn raise_descriptor_limit() -> u64 {
    let mut limit = descriptor_limit();
    limit.rlim_cur = limit.rlim_max;
    set_descriptor_limit(&limit);
    limit.rlim_cur
}

/// Lets no further descriptor be opened until one below the highest is closed.
pub fn exhaust_descriptors() {
    // SAFETY: makes a new descriptor, which is closed at once; its number is the next one's.
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
    // SAFETY: it lives through the call.
    assert_eq!(unsafe { libc::getrlimit(libc::RLIMIT_NOFILE, &mut limit) }, 0);
    limit
}

fn set_descriptor_limit(limit: &libc::rlimit) {
    // SAFETY: it lives through the call.
    let result = unsafe { libc::setrlimit(libc::RLIMIT_NOFILE, limit) };
    assert_eq!(result, 0, "{}", io::Error::last_os_error());
}

/// Runs the test `name` of this very program once more, in a process of its own with `WAKEFUL_CHILD` set,
/// and fails if it does.
pub fn run_in_child(name: &str) {
    let status = std::process::Command::new(std::env::current_exe().unwrap())
        .args(["--exact", name, "--nocapture", "--test-threads", "1"])
        .env("WAKEFUL_CHILD", name)
        .status()
        .unwrap();
    assert!(status.success(), "{name} failed in its child process: {status}");
}

/// Whether this is the process that [`run_in_child`] started.
pub fn is_child() -> bool {
    std::env::var_os("WAKEFUL_CHILD").is_some()
}
