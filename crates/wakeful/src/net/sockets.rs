//! Creates sockets that are non-blocking and close-on-exec from the start.
//!
//! Some systems do all of this in one system call; on others, `sys` makes further calls. All
//! platform `cfg`s for this are in this file.

use socket2::{Domain, Protocol, SockAddr, SockRef, Socket, Type};
use std::io;
use std::net::SocketAddr;
use std::os::fd::AsFd;

/// The default limit of connections that wait to be accepted. The kernel has a limit of its own
/// (`somaxconn` on Linux).
pub(super) const BACKLOG: i32 = 1024;

/// Creates a socket.
pub(super) fn socket(domain: Domain, ty: Type, protocol: Option<Protocol>) -> io::Result<Socket> {
    let socket = Socket::new(domain, sys::nonblocking(ty), protocol)?;
    sys::set_missing_flags(&socket)?;
    Ok(socket)
}

/// Creates a socket for the address family of `address`.
pub(super) fn socket_for(address: SocketAddr, ty: Type) -> io::Result<Socket> {
    socket(Domain::for_address(address), ty, None)
}

/// Creates two Unix sockets that are connected to each other.
pub(super) fn pair(ty: Type) -> io::Result<(Socket, Socket)> {
    let (a, b) = Socket::pair(Domain::UNIX, sys::nonblocking(ty), None)?;
    sys::set_missing_flags(&a)?;
    sys::set_missing_flags(&b)?;
    Ok((a, b))
}

/// Accepts the next connection of `listener`.
pub(super) fn accept(listener: &impl AsFd) -> io::Result<(Socket, SockAddr)> {
    sys::accept(&SockRef::from(listener))
}

/// Starts to connect. `EINPROGRESS` is not an error here.
pub(super) fn start_connect(socket: &Socket, address: &SockAddr) -> io::Result<()> {
    match socket.connect(address) {
        Err(error) if error.raw_os_error() == Some(libc::EINPROGRESS) => Ok(()),
        result => result,
    }
}

/// Panics in debug builds if `socket` is blocking: each of its operations would block a worker.
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

/// Converts the address of an IPv4 or IPv6 socket.
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

    pub(super) fn set_missing_flags(_socket: &Socket) -> io::Result<()> {
        Ok(())
    }

    pub(super) fn accept(listener: &Socket) -> io::Result<(Socket, SockAddr)> {
        let flags = libc::SOCK_NONBLOCK | libc::SOCK_CLOEXEC;
        // SAFETY: `storage` has room for `*len` bytes, and the kernel sets `len` to the length that
        // it wrote there. A result other than -1 is a new descriptor that nothing else owns.
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

    pub(super) fn set_missing_flags(socket: &Socket) -> io::Result<()> {
        socket.set_nonblocking(true)
    }

    pub(super) fn accept(listener: &Socket) -> io::Result<(Socket, SockAddr)> {
        let (socket, address) = listener.accept()?;
        set_missing_flags(&socket)?;
        Ok((socket, address))
    }
}
