//! Sockets as they are made here: non-blocking, and not inherited by child processes, from the start.
//!
//! Where the operating system can do both as it makes the socket, that is one call; elsewhere there
//! are more, and the one `cfg` for that is in this file.

use socket2::{Domain, Protocol, SockAddr, SockRef, Socket, Type};
use std::io;
use std::net::SocketAddr;
use std::os::fd::AsFd;

/// How many connections may wait to be accepted, unless the user says otherwise. The kernel has a limit
/// of its own.
pub(super) const BACKLOG: i32 = 1024;

/// A new socket.
pub(super) fn socket(domain: Domain, ty: Type, protocol: Option<Protocol>) -> io::Result<Socket> {
    let socket = Socket::new(domain, sys::nonblocking(ty), protocol)?;
    sys::finish(&socket)?;
    Ok(socket)
}

/// A new socket for the family of `address`.
pub(super) fn socket_for(address: SocketAddr, ty: Type) -> io::Result<Socket> {
    socket(Domain::for_address(address), ty, None)
}

/// Two Unix sockets, each connected to the other.
pub(super) fn pair(ty: Type) -> io::Result<(Socket, Socket)> {
    let (a, b) = Socket::pair(Domain::UNIX, sys::nonblocking(ty), None)?;
    sys::finish(&a)?;
    sys::finish(&b)?;
    Ok((a, b))
}

/// Takes the next connection of a listener.
pub(super) fn accept(listener: &impl AsFd) -> io::Result<(Socket, SockAddr)> {
    sys::accept(&SockRef::from(listener))
}

/// Begins to connect. That it takes its time is no error.
pub(super) fn start_connect(socket: &Socket, address: &SockAddr) -> io::Result<()> {
    match socket.connect(address) {
        Err(error) if error.raw_os_error() == Some(libc::EINPROGRESS) => Ok(()),
        result => result,
    }
}

/// Panics, in debug builds, if somebody hands us a socket that blocks: each of its operations would stop
/// a worker.
#[track_caller]
pub(super) fn check_nonblocking(socket: &impl AsFd) -> io::Result<()> {
    if cfg!(debug_assertions) {
        assert!(
            SockRef::from(socket).nonblocking()?,
            "`from_std` called with a blocking socket, which would block the tasks of its thread; \
             call `set_nonblocking(true)` on it first"
        );
    }
    Ok(())
}

/// The address of an Internet socket.
pub(super) fn inet_address(address: &SockAddr) -> io::Result<SocketAddr> {
    address.as_socket().ok_or_else(|| {
        io::Error::new(io::ErrorKind::InvalidInput, "invalid address family (not IPv4 or IPv6)")
    })
}

#[cfg(any(
    target_os = "android",
    target_os = "dragonfly",
    target_os = "freebsd",
    target_os = "illumos",
    target_os = "linux",
    target_os = "netbsd",
    target_os = "openbsd",
))]
mod sys {
    use socket2::{SockAddr, Socket, Type};
    use std::io;
    use std::os::fd::{AsRawFd, FromRawFd};

    pub(super) fn nonblocking(ty: Type) -> Type {
        ty.nonblocking()
    }

    pub(super) fn finish(_socket: &Socket) -> io::Result<()> {
        Ok(())
    }

    pub(super) fn accept(listener: &Socket) -> io::Result<(Socket, SockAddr)> {
        let flags = libc::SOCK_NONBLOCK | libc::SOCK_CLOEXEC;
        // SAFETY: `storage` has room for `*len` bytes, of which the kernel fills as many as it leaves in
        // `len`; what it returns is a new descriptor or an error.
        unsafe {
            SockAddr::try_init(|storage, len| {
                match libc::accept4(listener.as_raw_fd(), storage.cast(), len, flags) {
                    -1 => Err(io::Error::last_os_error()),
                    fd => Ok(Socket::from_raw_fd(fd)),
                }
            })
        }
    }
}

#[cfg(not(any(
    target_os = "android",
    target_os = "dragonfly",
    target_os = "freebsd",
    target_os = "illumos",
    target_os = "linux",
    target_os = "netbsd",
    target_os = "openbsd",
)))]
mod sys {
    use socket2::{SockAddr, Socket, Type};
    use std::io;

    pub(super) fn nonblocking(ty: Type) -> Type {
        ty
    }

    pub(super) fn finish(socket: &Socket) -> io::Result<()> {
        socket.set_nonblocking(true)
    }

    pub(super) fn accept(listener: &Socket) -> io::Result<(Socket, SockAddr)> {
        let (socket, address) = listener.accept()?;
        finish(&socket)?;
        Ok((socket, address))
    }
}
