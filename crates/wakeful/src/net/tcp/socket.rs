use super::{TcpListener, TcpStream};
use crate::net::sockets;
use socket2::{Domain, Protocol, Socket, Type};
use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, IntoRawFd, OwnedFd, RawFd};
use std::time::Duration;

/// A TCP socket that is neither connected nor listening yet: the time to set its options.
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

/// A getter and a setter of an option of the kernel's.
macro_rules! options {
    ($(
        $(#[$attribute:meta])*
        $get:ident, $set:ident: $type:ty = $socket_get:ident, $socket_set:ident;
    )+) => {$(
        $(#[$attribute])*
        ///
        /// # Errors
        /// If the kernel cannot tell.
        pub fn $get(&self) -> io::Result<$type> {
            self.socket.$socket_get()
        }

        #[doc = concat!("Sets [`", stringify!($get), "`](Self::", stringify!($get), ").")]
        ///
        /// # Errors
        /// If the kernel refuses it.
        pub fn $set(&self, value: $type) -> io::Result<()> {
            self.socket.$socket_set(value)
        }
    )+};
}

impl TcpSocket {
    /// A socket for IPv4.
    ///
    /// # Errors
    /// If the kernel gives none.
    pub fn new_v4() -> io::Result<TcpSocket> {
        TcpSocket::new(Domain::IPV4)
    }

    /// A socket for IPv6.
    ///
    /// # Errors
    /// If the kernel gives none.
    pub fn new_v6() -> io::Result<TcpSocket> {
        TcpSocket::new(Domain::IPV6)
    }

    fn new(domain: Domain) -> io::Result<TcpSocket> {
        let socket = sockets::socket(domain, Type::STREAM, Some(Protocol::TCP))?;
        Ok(TcpSocket { socket })
    }

    /// Takes a socket over that was made elsewhere, though the standard library calls it a stream. It must
    /// be neither connected nor listening, and non-blocking.
    pub fn from_std_stream(std_stream: std::net::TcpStream) -> TcpSocket {
        TcpSocket { socket: std_stream.into() }
    }

    options! {
        /// Whether a silent connection is asked now and then if it still lives (`SO_KEEPALIVE`).
        keepalive, set_keepalive: bool = keepalive, set_keepalive;
        /// Whether it can listen at an address that closed connections still use (`SO_REUSEADDR`).
        reuseaddr, set_reuseaddr: bool = reuse_address, set_reuse_address;
        /// Whether small writes are sent at once (`TCP_NODELAY`) instead of being gathered.
        nodelay, set_nodelay: bool = tcp_nodelay, set_tcp_nodelay;
    }

    /// Whether several sockets can listen at one address (`SO_REUSEPORT`).
    ///
    /// # Errors
    /// If the kernel cannot tell.
    #[cfg(not(any(target_os = "solaris", target_os = "illumos")))]
    pub fn reuseport(&self) -> io::Result<bool> {
        self.socket.reuse_port()
    }

    /// Sets [`reuseport`](Self::reuseport).
    ///
    /// # Errors
    /// If the kernel refuses it.
    #[cfg(not(any(target_os = "solaris", target_os = "illumos")))]
    pub fn set_reuseport(&self, reuseport: bool) -> io::Result<()> {
        self.socket.set_reuse_port(reuseport)
    }

    /// Room for what was not sent yet, in bytes (`SO_SNDBUF`). Linux gives twice of what was set.
    ///
    /// # Errors
    /// If the kernel cannot tell.
    pub fn send_buffer_size(&self) -> io::Result<u32> {
        Ok(self.socket.send_buffer_size()? as u32)
    }

    /// Sets [`send_buffer_size`](Self::send_buffer_size).
    ///
    /// # Errors
    /// If the kernel refuses it.
    pub fn set_send_buffer_size(&self, size: u32) -> io::Result<()> {
        self.socket.set_send_buffer_size(size as usize)
    }

    /// Room for what was not read yet, in bytes (`SO_RCVBUF`). Linux gives twice of what was set.
    ///
    /// # Errors
    /// If the kernel cannot tell.
    pub fn recv_buffer_size(&self) -> io::Result<u32> {
        Ok(self.socket.recv_buffer_size()? as u32)
    }

    /// Sets [`recv_buffer_size`](Self::recv_buffer_size).
    ///
    /// # Errors
    /// If the kernel refuses it.
    pub fn set_recv_buffer_size(&self, size: u32) -> io::Result<()> {
        self.socket.set_recv_buffer_size(size as usize)
    }

    /// How long closing the stream waits for what was not sent yet (`SO_LINGER`).
    ///
    /// # Errors
    /// If the kernel cannot tell.
    pub fn linger(&self) -> io::Result<Option<Duration>> {
        self.socket.linger()
    }

    /// Sets [`linger`](Self::linger).
    ///
    /// # Errors
    /// If the kernel refuses it.
    #[deprecated = "the drop of such a stream blocks its thread; use `set_zero_linger`, or `shutdown`"]
    pub fn set_linger(&self, dur: Option<Duration>) -> io::Result<()> {
        self.socket.set_linger(dur)
    }

    /// Lets the drop of the stream throw away what was not sent yet, and reset the connection.
    ///
    /// # Errors
    /// If the kernel refuses it.
    pub fn set_zero_linger(&self) -> io::Result<()> {
        self.socket.set_linger(Some(Duration::ZERO))
    }

    /// The class of IPv6 packets (`IPV6_TCLASS`).
    ///
    /// # Errors
    /// If the kernel cannot tell.
    #[cfg(not(any(target_os = "solaris", target_os = "illumos", target_os = "haiku")))]
    pub fn tclass_v6(&self) -> io::Result<u32> {
        self.socket.tclass_v6()
    }

    /// Sets [`tclass_v6`](Self::tclass_v6).
    ///
    /// # Errors
    /// If the kernel refuses it.
    #[cfg(not(any(target_os = "solaris", target_os = "illumos", target_os = "haiku")))]
    pub fn set_tclass_v6(&self, tclass: u32) -> io::Result<()> {
        self.socket.set_tclass_v6(tclass)
    }

    /// The type of service of IPv4 packets (`IP_TOS`).
    ///
    /// # Errors
    /// If the kernel cannot tell.
    #[cfg(not(any(target_os = "solaris", target_os = "illumos", target_os = "haiku")))]
    pub fn tos_v4(&self) -> io::Result<u32> {
        self.socket.tos_v4()
    }

    /// Sets [`tos_v4`](Self::tos_v4).
    ///
    /// # Errors
    /// If the kernel refuses it.
    #[cfg(not(any(target_os = "solaris", target_os = "illumos", target_os = "haiku")))]
    pub fn set_tos_v4(&self, tos: u32) -> io::Result<()> {
        self.socket.set_tos_v4(tos)
    }

    /// Former name of [`tos_v4`](Self::tos_v4).
    ///
    /// # Errors
    /// If the kernel cannot tell.
    #[doc(hidden)]
    #[deprecated(note = "it concerns IPv4 only, hence the new name `tos_v4`")]
    #[cfg(not(any(target_os = "solaris", target_os = "illumos", target_os = "haiku")))]
    pub fn tos(&self) -> io::Result<u32> {
        self.tos_v4()
    }

    /// Former name of [`set_tos_v4`](Self::set_tos_v4).
    ///
    /// # Errors
    /// If the kernel refuses it.
    #[doc(hidden)]
    #[deprecated(note = "it concerns IPv4 only, hence the new name `set_tos_v4`")]
    #[cfg(not(any(target_os = "solaris", target_os = "illumos", target_os = "haiku")))]
    pub fn set_tos(&self, tos: u32) -> io::Result<()> {
        self.set_tos_v4(tos)
    }

    /// The network interface it is bound to (`SO_BINDTODEVICE`), if any.
    ///
    /// # Errors
    /// If the kernel cannot tell.
    #[cfg(any(target_os = "android", target_os = "linux"))]
    pub fn device(&self) -> io::Result<Option<Vec<u8>>> {
        self.socket.device()
    }

    /// Binds it to a network interface, by its name, or to none any more.
    ///
    /// # Errors
    /// If the kernel refuses it.
    #[cfg(any(target_os = "android", target_os = "linux"))]
    pub fn bind_device(&self, interface: Option<&[u8]>) -> io::Result<()> {
        self.socket.bind_device(interface)
    }

    /// The address it is bound to.
    ///
    /// # Errors
    /// If the kernel does not know it.
    pub fn local_addr(&self) -> io::Result<SocketAddr> {
        sockets::inet_address(&self.socket.local_addr()?)
    }

    /// The error that is pending on the socket, which is none afterwards.
    ///
    /// # Errors
    /// If the kernel cannot tell.
    pub fn take_error(&self) -> io::Result<Option<io::Error>> {
        self.socket.take_error()
    }

    /// Binds it to an address of this machine.
    ///
    /// # Errors
    /// If that is not one, or somebody else's.
    pub fn bind(&self, addr: SocketAddr) -> io::Result<()> {
        self.socket.bind(&addr.into())
    }

    /// Connects to `addr`.
    ///
    /// # Errors
    /// If that is not possible.
    ///
    /// # Panics
    /// Outside of a runtime with I/O.
    ///
    /// # Cancel safety
    /// Dropped before it is done, the attempt is given up and the socket closed.
    pub async fn connect(self, addr: SocketAddr) -> io::Result<TcpStream> {
        sockets::start_connect(&self.socket, &addr.into())?;
        TcpStream::connecting(self.socket.into(), "TcpSocket::connect").await
    }

    /// Listens, with at most `backlog` connections that wait to be accepted.
    ///
    /// # Errors
    /// If that is not possible.
    ///
    /// # Panics
    /// Outside of a runtime with I/O.
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
    /// The descriptor must be a non-blocking TCP socket.
    unsafe fn from_raw_fd(fd: RawFd) -> TcpSocket {
        // SAFETY: by the trait's contract it is open, and nobody else's.
        TcpSocket { socket: unsafe { OwnedFd::from_raw_fd(fd) }.into() }
    }
}

impl IntoRawFd for TcpSocket {
    fn into_raw_fd(self) -> RawFd {
        self.socket.into_raw_fd()
    }
}
