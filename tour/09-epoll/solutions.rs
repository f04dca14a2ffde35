//! Solutions to the exercises of step 9. `SOLUTIONS.md` explains them.
//!
//! 第 9 步练习的答案，讲解见 `SOLUTIONS.zh-CN.md`。

use std::io::{self, ErrorKind};
use std::mem;
use std::net::{Ipv4Addr, SocketAddr, SocketAddrV4, TcpListener, TcpStream};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::sync::Arc;

use super::mini_tokio;
use super::net::Watched;
use super::reactor::{Direction, Reactor};
use crate::timeline::Timeline;

/// Connects without blocking: the system call starts it, and epoll tells when it is over.
async fn connect(address: SocketAddrV4, reactor: &Arc<Reactor>) -> io::Result<Watched<TcpStream>> {
    let stream = Watched::new(start(address)?, reactor)?;
    // Writable means that the connection stands or has failed. A task that was woken for another
    // reason finds neither, and waits again.
    let is_over = |socket: &TcpStream| match (socket.take_error()?, socket.peer_addr()) {
        (Some(error), _) => Err(error),
        (None, Err(error)) if error.kind() == ErrorKind::NotConnected => {
            Err(ErrorKind::WouldBlock.into())
        }
        (None, result) => result.map(drop),
    };
    stream.when(Direction::Write, is_over).await?;
    Ok(stream)
}

/// Makes a socket that does not block, and starts to connect it.
fn start(address: SocketAddrV4) -> io::Result<TcpStream> {
    let kind = libc::SOCK_STREAM | libc::SOCK_NONBLOCK | libc::SOCK_CLOEXEC;
    // SAFETY: the call takes no pointers.
    let fd = unsafe { libc::socket(libc::AF_INET, kind, 0) };
    if fd < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the kernel has just opened the descriptor for this call, and no other code owns it.
    let fd = unsafe { OwnedFd::from_raw_fd(fd) };
    let target = libc::sockaddr_in {
        sin_family: libc::AF_INET as libc::sa_family_t,
        sin_port: address.port().to_be(),
        sin_addr: libc::in_addr { s_addr: u32::from_ne_bytes(address.ip().octets()) },
        sin_zero: [0; 8],
    };
    let length = mem::size_of_val(&target) as libc::socklen_t;
    // SAFETY: `target` is valid for `length` bytes during the call, which copies it.
    let result = unsafe { libc::connect(fd.as_raw_fd(), (&raw const target).cast(), length) };
    let error = io::Error::last_os_error();
    if result < 0 && error.raw_os_error() != Some(libc::EINPROGRESS) {
        return Err(error);
    }
    Ok(TcpStream::from(fd))
}

fn v4(address: SocketAddr) -> SocketAddrV4 {
    let SocketAddr::V4(address) = address else { panic!("bound to an address of version 4") };
    address
}

/// What a task that connects to `address` notes.
fn connecting_to(address: SocketAddrV4) -> Vec<String> {
    let timeline = Timeline::new();
    let (mini_tokio, reactor) = mini_tokio(&timeline);
    let record = timeline.clone();
    mini_tokio.spawner().spawn("client", async move {
        let result = connect(address, &reactor).await;
        record.note("client", format!("{:?}", result.map(drop).map_err(|error| error.kind())));
    });
    mini_tokio.run();
    timeline.story_of("client")
}

#[test]
fn a_connection_is_made_without_blocking() {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let story = connecting_to(v4(listener.local_addr().unwrap()));
    assert!(story.contains(&"Ok(())".to_owned()), "{story:?}");
}

#[test]
fn a_connection_that_is_refused_is_an_error() {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let address = v4(listener.local_addr().unwrap());
    drop(listener);
    let story = connecting_to(address);
    assert!(story.contains(&"Err(ConnectionRefused)".to_owned()), "{story:?}");
}
