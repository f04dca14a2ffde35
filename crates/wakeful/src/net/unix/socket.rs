use super::{SocketAddr, UnixDatagram, UnixListener, UnixStream};
use crate::net::sockets;
use socket2::{Domain, Socket, Type};
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, IntoRawFd, OwnedFd, RawFd};
use std::path::Path;

/// A Unix socket that is neither connected nor listening yet.
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
    /// A socket for datagrams.
    ///
    /// # Errors
    /// If the kernel gives none.
    pub fn new_datagram() -> io::Result<UnixSocket> {
        UnixSocket::new(Type::DGRAM)
    }

    /// A socket for streams.
    ///
    /// # Errors
    /// If the kernel gives none.
    pub fn new_stream() -> io::Result<UnixSocket> {
        UnixSocket::new(Type::STREAM)
    }

    fn new(ty: Type) -> io::Result<UnixSocket> {
        Ok(UnixSocket { socket: sockets::socket(Domain::UNIX, ty, None)? })
    }

    /// Fails for `call` if the socket is of the other type.
    fn refuse(&self, ty: Type, call: &str, kind: &str) -> io::Result<()> {
        if self.socket.r#type()? == ty {
            return Err(io::Error::other(format!("{call} cannot be called on a {kind} socket")));
        }
        Ok(())
    }

    /// Binds it to `path`. On Linux one that begins with a zero byte is an abstract name.
    ///
    /// # Errors
    /// If that is not possible; with `AddrInUse` if the path exists.
    pub fn bind(&self, path: impl AsRef<Path>) -> io::Result<()> {
        self.socket.bind(&SocketAddr::of_path(path.as_ref())?.to_kernel()?)
    }

    /// Listens, with at most `backlog` connections that wait to be accepted.
    ///
    /// # Errors
    /// If that is not possible: on a socket for datagrams, say.
    ///
    /// # Panics
    /// Outside of a runtime with I/O.
    #[track_caller]
    pub fn listen(self, backlog: u32) -> io::Result<UnixListener> {
        self.refuse(Type::DGRAM, "listen", "datagram")?;
        self.socket.listen(i32::try_from(backlog).unwrap_or(i32::MAX))?;
        UnixListener::watch(self.socket.into(), "UnixSocket::listen")
    }

    /// Connects to whoever listens at `path`.
    ///
    /// # Errors
    /// If that is not possible: on a socket for datagrams, say.
    ///
    /// # Panics
    /// Outside of a runtime with I/O.
    ///
    /// # Cancel safety
    /// Dropped before it is done, the attempt is given up and the socket closed.
    pub async fn connect(self, path: impl AsRef<Path>) -> io::Result<UnixStream> {
        self.refuse(Type::DGRAM, "connect", "datagram")?;
        let address = SocketAddr::of_path(path.as_ref())?.to_kernel()?;
        sockets::start_connect(&self.socket, &address)?;
        UnixStream::connecting(self.socket.into(), "UnixSocket::connect").await
    }

    /// Turns it into a [`UnixDatagram`].
    ///
    /// # Errors
    /// On a socket for streams, or if it has failed.
    ///
    /// # Panics
    /// Outside of a runtime with I/O.
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
    /// The descriptor must be a non-blocking Unix socket.
    unsafe fn from_raw_fd(fd: RawFd) -> UnixSocket {
        // SAFETY: by the trait's contract it is open, and nobody else's.
        UnixSocket { socket: unsafe { OwnedFd::from_raw_fd(fd) }.into() }
    }
}

impl IntoRawFd for UnixSocket {
    fn into_raw_fd(self) -> RawFd {
        self.socket.into_raw_fd()
    }
}
