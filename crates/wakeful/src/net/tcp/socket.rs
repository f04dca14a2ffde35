use super::{TcpListener, TcpStream};
use crate::net::sockets;
use socket2::{Domain, Protocol, Socket, Type};
use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, IntoRawFd, OwnedFd, RawFd};
use std::time::Duration;

/// A TCP socket that is not yet connected or listening, so that its options can be set.
///
/// ```
/// # wakeful::runtime::Runtime::new().unwrap().block_on(async {
/// use wakeful::net::TcpSocket;
///
/// let socket = TcpSocket::new_v4()?;
/// socket.set_reuseaddr(true)?;
/// socket.bind("127.0.0.1:0".parse().unwrap())?;
/// let listener = socket.listen(128)?;
///
/// let socket = TcpSocket::new_v4()?;
/// socket.set_nodelay(true)?;
/// let stream = socket.connect(listener.local_addr()?).await?;
/// assert!(stream.nodelay()?);
/// # std::io::Result::Ok(()) }).unwrap();
/// ```
pub struct TcpSocket {
    socket: Socket,
}

/// Defines the getter and the setter of a socket option.
macro_rules! options {
    ($(
        $(#[$attribute:meta])*
        $get:ident, $set:ident: $type:ty = $socket_get:ident, $socket_set:ident;
    )+) => {$(
        $(#[$attribute])*
        ///
        /// # Errors
        /// Returns an error if the system call fails.
        pub fn $get(&self) -> io::Result<$type> {
            self.socket.$socket_get()
        }

        #[doc = concat!("Sets [`", stringify!($get), "`](Self::", stringify!($get), ").")]
        ///
        /// # Errors
        /// Returns an error if the kernel rejects the value.
        pub fn $set(&self, value: $type) -> io::Result<()> {
            self.socket.$socket_set(value)
        }
    )+};
}

impl TcpSocket {
    /// Creates an IPv4 socket.
    ///
    /// # Errors
    /// Returns an error if the kernel cannot create a socket.
    pub fn new_v4() -> io::Result<TcpSocket> {
        TcpSocket::new(Domain::IPV4)
    }

    /// Creates an IPv6 socket.
    ///
    /// # Errors
    /// Returns an error if the kernel cannot create a socket.
    pub fn new_v6() -> io::Result<TcpSocket> {
        TcpSocket::new(Domain::IPV6)
    }

    fn new(domain: Domain) -> io::Result<TcpSocket> {
        let socket = sockets::socket(domain, Type::STREAM, Some(Protocol::TCP))?;
        Ok(TcpSocket { socket })
    }

    /// Converts a socket that was created elsewhere and has the standard library's stream type.
    ///
    /// The socket must be non-blocking, and neither connected nor listening.
    pub fn from_std_stream(std_stream: std::net::TcpStream) -> TcpSocket {
        TcpSocket { socket: std_stream.into() }
    }

    options! {
        /// Returns whether the kernel probes an idle connection for a dead peer (`SO_KEEPALIVE`).
        keepalive, set_keepalive: bool = keepalive, set_keepalive;
        /// Returns whether an address that closed connections use may be bound (`SO_REUSEADDR`).
        reuseaddr, set_reuseaddr: bool = reuse_address, set_reuse_address;
        /// Returns whether small writes are sent at once instead of being merged (`TCP_NODELAY`).
        nodelay, set_nodelay: bool = tcp_nodelay, set_tcp_nodelay;
    }

    /// Returns whether several sockets may bind to the same address (`SO_REUSEPORT`).
    ///
    /// # Errors
    /// Returns an error if the system call fails.
    #[cfg(not(any(target_os = "solaris", target_os = "illumos")))]
    pub fn reuseport(&self) -> io::Result<bool> {
        self.socket.reuse_port()
    }

    /// Sets [`reuseport`](Self::reuseport).
    ///
    /// # Errors
    /// Returns an error if the kernel rejects the value.
    #[cfg(not(any(target_os = "solaris", target_os = "illumos")))]
    pub fn set_reuseport(&self, reuseport: bool) -> io::Result<()> {
        self.socket.set_reuse_port(reuseport)
    }

    /// Returns the size of the send buffer in bytes (`SO_SNDBUF`).
    ///
    /// Linux returns twice the value that was set.
    ///
    /// # Errors
    /// Returns an error if the system call fails.
    pub fn send_buffer_size(&self) -> io::Result<u32> {
        Ok(self.socket.send_buffer_size()? as u32)
    }

    /// Sets [`send_buffer_size`](Self::send_buffer_size).
    ///
    /// # Errors
    /// Returns an error if the kernel rejects the value.
    pub fn set_send_buffer_size(&self, size: u32) -> io::Result<()> {
        self.socket.set_send_buffer_size(size as usize)
    }

    /// Returns the size of the receive buffer in bytes (`SO_RCVBUF`).
    ///
    /// Linux returns twice the value that was set.
    ///
    /// # Errors
    /// Returns an error if the system call fails.
    pub fn recv_buffer_size(&self) -> io::Result<u32> {
        Ok(self.socket.recv_buffer_size()? as u32)
    }

    /// Sets [`recv_buffer_size`](Self::recv_buffer_size).
    ///
    /// # Errors
    /// Returns an error if the kernel rejects the value.
    pub fn set_recv_buffer_size(&self, size: u32) -> io::Result<()> {
        self.socket.set_recv_buffer_size(size as usize)
    }

    /// Returns how long closing the socket waits for unsent data (`SO_LINGER`).
    ///
    /// # Errors
    /// Returns an error if the system call fails.
    pub fn linger(&self) -> io::Result<Option<Duration>> {
        self.socket.linger()
    }

    /// Sets [`linger`](Self::linger).
    ///
    /// # Errors
    /// Returns an error if the kernel rejects the value.
    #[deprecated = "dropping the stream may block the thread; use `set_zero_linger` or `shutdown`"]
    pub fn set_linger(&self, dur: Option<Duration>) -> io::Result<()> {
        self.socket.set_linger(dur)
    }

    /// Makes the drop of the stream discard unsent data and reset the connection.
    ///
    /// # Errors
    /// Returns an error if the kernel rejects the value.
    pub fn set_zero_linger(&self) -> io::Result<()> {
        self.socket.set_linger(Some(Duration::ZERO))
    }

    /// Returns the traffic class of IPv6 packets (`IPV6_TCLASS`).
    ///
    /// # Errors
    /// Returns an error if the system call fails.
    #[cfg(not(any(target_os = "solaris", target_os = "illumos", target_os = "haiku")))]
    pub fn tclass_v6(&self) -> io::Result<u32> {
        self.socket.tclass_v6()
    }

    /// Sets [`tclass_v6`](Self::tclass_v6).
    ///
    /// # Errors
    /// Returns an error if the kernel rejects the value.
    #[cfg(not(any(target_os = "solaris", target_os = "illumos", target_os = "haiku")))]
    pub fn set_tclass_v6(&self, tclass: u32) -> io::Result<()> {
        self.socket.set_tclass_v6(tclass)
    }

    /// Returns the type of service of IPv4 packets (`IP_TOS`).
    ///
    /// # Errors
    /// Returns an error if the system call fails.
    #[cfg(not(any(target_os = "solaris", target_os = "illumos", target_os = "haiku")))]
    pub fn tos_v4(&self) -> io::Result<u32> {
        self.socket.tos_v4()
    }

    /// Sets [`tos_v4`](Self::tos_v4).
    ///
    /// # Errors
    /// Returns an error if the kernel rejects the value.
    #[cfg(not(any(target_os = "solaris", target_os = "illumos", target_os = "haiku")))]
    pub fn set_tos_v4(&self, tos: u32) -> io::Result<()> {
        self.socket.set_tos_v4(tos)
    }

    /// The former name of [`tos_v4`](Self::tos_v4).
    ///
    /// # Errors
    /// Returns an error if the system call fails.
    #[doc(hidden)]
    #[deprecated(note = "renamed to `tos_v4`: it applies to IPv4 only")]
    #[cfg(not(any(target_os = "solaris", target_os = "illumos", target_os = "haiku")))]
    pub fn tos(&self) -> io::Result<u32> {
        self.tos_v4()
    }

    /// The former name of [`set_tos_v4`](Self::set_tos_v4).
    ///
    /// # Errors
    /// Returns an error if the kernel rejects the value.
    #[doc(hidden)]
    #[deprecated(note = "renamed to `set_tos_v4`: it applies to IPv4 only")]
    #[cfg(not(any(target_os = "solaris", target_os = "illumos", target_os = "haiku")))]
    pub fn set_tos(&self, tos: u32) -> io::Result<()> {
        self.set_tos_v4(tos)
    }

    /// Returns the network interface that the socket is bound to (`SO_BINDTODEVICE`), if any.
    ///
    /// # Errors
    /// Returns an error if the system call fails.
    #[cfg(any(target_os = "android", target_os = "linux"))]
    pub fn device(&self) -> io::Result<Option<Vec<u8>>> {
        self.socket.device()
    }

    /// Binds the socket to the network interface of that name; `None` removes the binding.
    ///
    /// # Errors
    /// Returns an error if the kernel rejects the value.
    #[cfg(any(target_os = "android", target_os = "linux"))]
    pub fn bind_device(&self, interface: Option<&[u8]>) -> io::Result<()> {
        self.socket.bind_device(interface)
    }

    /// Returns the address that the socket is bound to.
    ///
    /// # Errors
    /// Returns an error if the system call fails.
    pub fn local_addr(&self) -> io::Result<SocketAddr> {
        sockets::inet_address(&self.socket.local_addr()?)
    }

    /// Returns the pending error of the socket (`SO_ERROR`), and clears it.
    ///
    /// # Errors
    /// Returns an error if the system call fails.
    pub fn take_error(&self) -> io::Result<Option<io::Error>> {
        self.socket.take_error()
    }

    /// Binds the socket to a local address.
    ///
    /// # Errors
    /// Returns an error if the address is not local, or is already in use.
    pub fn bind(&self, addr: SocketAddr) -> io::Result<()> {
        self.socket.bind(&addr.into())
    }

    /// Connects to `addr`.
    ///
    /// # Errors
    /// Returns an error if the connection cannot be established.
    ///
    /// # Panics
    /// Panics if there is no current runtime, or its I/O driver is disabled.
    ///
    /// # Cancel safety
    /// If the future is dropped, the attempt is abandoned and the socket closed.
    pub async fn connect(self, addr: SocketAddr) -> io::Result<TcpStream> {
        sockets::start_connect(&self.socket, &addr.into())?;
        TcpStream::connecting(self.socket.into(), "TcpSocket::connect").await
    }

    /// Listens for connections. At most `backlog` connections wait to be accepted.
    ///
    /// # Errors
    /// Returns an error if the system call fails.
    ///
    /// # Panics
    /// Panics if there is no current runtime, or its I/O driver is disabled.
    #[track_caller]
    pub fn listen(self, backlog: u32) -> io::Result<TcpListener> {
        self.socket.listen(i32::try_from(backlog).unwrap_or(i32::MAX))?;
        TcpListener::watch(self.socket.into(), "TcpSocket::listen")
    }
}

impl fmt::Debug for TcpSocket {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.socket.fmt(f)
    }
}

impl AsRawFd for TcpSocket {
    fn as_raw_fd(&self) -> RawFd {
        self.socket.as_raw_fd()
    }
}

impl AsFd for TcpSocket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

impl FromRawFd for TcpSocket {
    /// Converts a descriptor, which must be a non-blocking TCP socket.
    unsafe fn from_raw_fd(fd: RawFd) -> TcpSocket {
        // SAFETY: by the contract of `from_raw_fd`, the caller passes ownership of an open
        // descriptor.
        TcpSocket { socket: unsafe { OwnedFd::from_raw_fd(fd) }.into() }
    }
}

impl IntoRawFd for TcpSocket {
    fn into_raw_fd(self) -> RawFd {
        self.socket.into_raw_fd()
    }
}
