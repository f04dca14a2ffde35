use super::{SocketAddr, UnixDatagram, UnixListener, UnixStream};
use crate::net::sockets;
use socket2::{Domain, Socket, Type};
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, IntoRawFd, OwnedFd, RawFd};
use std::path::Path;

/// A Unix socket that is not yet connected or listening.
///
/// ```
/// # wakeful::runtime::Runtime::new().unwrap().block_on(async {
/// use wakeful::net::UnixSocket;
///
/// let path = std::env::temp_dir().join(format!("wakeful-socket-{}", std::process::id()));
/// let socket = UnixSocket::new_stream()?;
/// socket.bind(&path)?;
/// let listener = socket.listen(16)?;
/// let _client = UnixSocket::new_stream()?.connect(&path).await?;
/// let (_server, _) = listener.accept().await?;
/// std::fs::remove_file(&path)?;
/// # std::io::Result::Ok(()) }).unwrap();
/// ```
#[derive(Debug)]
pub struct UnixSocket {
    socket: Socket,
}

impl UnixSocket {
    /// Creates a datagram socket.
    ///
    /// # Errors
    /// Returns an error if the kernel cannot create a socket.
    pub fn new_datagram() -> io::Result<UnixSocket> {
        UnixSocket::new(Type::DGRAM)
    }

    /// Creates a stream socket.
    ///
    /// # Errors
    /// Returns an error if the kernel cannot create a socket.
    pub fn new_stream() -> io::Result<UnixSocket> {
        UnixSocket::new(Type::STREAM)
    }

    fn new(ty: Type) -> io::Result<UnixSocket> {
        Ok(UnixSocket { socket: sockets::socket(Domain::UNIX, ty, None)? })
    }

    /// Returns an error that names `call` if the socket is of type `ty`.
    fn refuse(&self, ty: Type, call: &str, kind: &str) -> io::Result<()> {
        if self.socket.r#type()? == ty {
            return Err(io::Error::other(format!("{call} cannot be called on a {kind} socket")));
        }
        Ok(())
    }

    /// Binds the socket to `path`.
    ///
    /// On Linux, a path that starts with a zero byte is an abstract name.
    ///
    /// # Errors
    /// Returns an error if the address cannot be bound; `AddrInUse` if the path exists.
    pub fn bind(&self, path: impl AsRef<Path>) -> io::Result<()> {
        self.socket.bind(&SocketAddr::of_path(path.as_ref())?.to_kernel()?)
    }

    /// Listens for connections. At most `backlog` connections wait to be accepted.
    ///
    /// # Errors
    /// Returns an error if the system call fails, or this is a datagram socket.
    ///
    /// # Panics
    /// Panics if there is no current runtime, or its I/O driver is disabled.
    #[track_caller]
    pub fn listen(self, backlog: u32) -> io::Result<UnixListener> {
        self.refuse(Type::DGRAM, "listen", "datagram")?;
        self.socket.listen(i32::try_from(backlog).unwrap_or(i32::MAX))?;
        UnixListener::watch(self.socket.into(), "UnixSocket::listen")
    }

    /// Connects to the listener at `path`.
    ///
    /// # Errors
    /// Returns an error if the connection cannot be established, or this is a datagram socket.
    ///
    /// # Panics
    /// Panics if there is no current runtime, or its I/O driver is disabled.
    ///
    /// # Cancel safety
    /// If the future is dropped, the attempt is abandoned and the socket closed.
    pub async fn connect(self, path: impl AsRef<Path>) -> io::Result<UnixStream> {
        self.refuse(Type::DGRAM, "connect", "datagram")?;
        let address = SocketAddr::of_path(path.as_ref())?.to_kernel()?;
        sockets::start_connect(&self.socket, &address)?;
        UnixStream::connecting(self.socket.into(), "UnixSocket::connect").await
    }

    /// Converts the socket into a [`UnixDatagram`].
    ///
    /// # Errors
    /// Returns an error if this is a stream socket, or the socket has a pending error.
    ///
    /// # Panics
    /// Panics if there is no current runtime, or its I/O driver is disabled.
    #[track_caller]
    pub fn datagram(self) -> io::Result<UnixDatagram> {
        self.refuse(Type::STREAM, "datagram", "stream")?;
        match self.socket.take_error()? {
            Some(error) => Err(error),
            None => UnixDatagram::watch(self.socket.into(), "UnixSocket::datagram"),
        }
    }
}

impl AsRawFd for UnixSocket {
    fn as_raw_fd(&self) -> RawFd {
        self.socket.as_raw_fd()
    }
}

impl AsFd for UnixSocket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

impl FromRawFd for UnixSocket {
    /// Converts a descriptor, which must be a non-blocking Unix socket.
    unsafe fn from_raw_fd(fd: RawFd) -> UnixSocket {
        // SAFETY: by the contract of `from_raw_fd`, the caller passes ownership of an open
        // descriptor.
        UnixSocket { socket: unsafe { OwnedFd::from_raw_fd(fd) }.into() }
    }
}

impl IntoRawFd for UnixSocket {
    fn into_raw_fd(self) -> RawFd {
        self.socket.into_raw_fd()
    }
}
