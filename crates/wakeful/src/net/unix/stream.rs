use super::split::{self, OwnedReadHalf, OwnedWriteHalf, ReadHalf, WriteHalf};
use super::{SocketAddr, UCred, credentials};
use crate::io::{AsyncRead, AsyncWrite, Interest, ReadBuf, Ready, Watched};
use crate::net::socket_type::{readiness_methods, std_conversions, stream_methods};
use crate::net::{receive, sockets};
use bytes::BufMut;
use socket2::{Domain, Type};
use std::future::poll_fn;
use std::io::{self, IoSlice, IoSliceMut, Read, Write};
use std::net::Shutdown;
use std::os::fd::AsFd;
use std::os::unix::net;
use std::path::Path;
use std::pin::Pin;
use std::task::{Context, Poll};

/// A connection between processes of one machine.
///
/// ```
/// # wakeful::runtime::Runtime::new().unwrap().block_on(async {
/// use wakeful::io::{AsyncReadExt, AsyncWriteExt};
/// use wakeful::net::UnixStream;
///
/// let (mut near, mut far) = UnixStream::pair()?;
/// near.write_all(b"ping").await?;
/// let mut buf = [0; 4];
/// far.read_exact(&mut buf).await?;
/// assert_eq!(&buf, b"ping");
/// # std::io::Result::Ok(()) }).unwrap();
/// ```
pub struct UnixStream {
    io: Watched<net::UnixStream>,
}

std_conversions!(UnixStream, net::UnixStream);
readiness_methods!(UnixStream);
stream_methods!(UnixStream);

impl UnixStream {
    /// Connects to the listener at `path`.
    ///
    /// On Linux, a path that starts with a zero byte is an abstract name.
    ///
    /// # Errors
    /// Returns an error if the connection cannot be established.
    ///
    /// # Panics
    /// Panics if there is no current runtime, or its I/O driver is disabled.
    ///
    /// # Cancel safety
    /// If the future is dropped, the attempt is abandoned and its socket closed.
    pub async fn connect<P>(path: P) -> io::Result<UnixStream>
    where
        P: AsRef<Path>,
    {
        let address = SocketAddr::of_path(path.as_ref())?;
        UnixStream::connect_addr(&address).await
    }

    /// Connects to the listener at that address.
    ///
    /// # Errors
    /// Returns an error if the connection cannot be established.
    ///
    /// # Panics
    /// Panics if there is no current runtime, or its I/O driver is disabled.
    pub async fn connect_addr(socket_addr: &SocketAddr) -> io::Result<UnixStream> {
        let socket = sockets::socket(Domain::UNIX, Type::STREAM, None)?;
        sockets::start_connect(&socket, &socket_addr.to_kernel()?)?;
        UnixStream::connecting(socket.into(), "UnixStream::connect").await
    }

    /// Waits until a started connect has succeeded or failed.
    pub(super) async fn connecting(stream: net::UnixStream, call: &str) -> io::Result<UnixStream> {
        let stream = UnixStream { io: Watched::new_duplex(stream, call)? };
        // The socket becomes writable in both cases: connected, or failed.
        poll_fn(|cx| stream.io.poll_write_ready(cx)).await?;
        match stream.io.take_error()? {
            Some(error) => Err(error),
            None => Ok(stream),
        }
    }

    /// Registers an accepted connection. Its first read and write are tried without waiting for an
    /// event.
    #[track_caller]
    pub(super) fn accepted(stream: net::UnixStream, call: &str) -> io::Result<UnixStream> {
        let io = Watched::new_duplex(stream, call)?;
        Ok(UnixStream { io: io.assume_ready(Ready::READABLE | Ready::WRITABLE) })
    }

    /// Creates two streams that are connected to each other.
    ///
    /// # Errors
    /// Returns an error if the kernel cannot create one.
    ///
    /// # Panics
    /// Panics if there is no current runtime, or its I/O driver is disabled.
    #[track_caller]
    pub fn pair() -> io::Result<(UnixStream, UnixStream)> {
        let (a, b) = sockets::pair(Type::STREAM)?;
        Ok((UnixStream::paired(a.into())?, UnixStream::paired(b.into())?))
    }

    #[track_caller]
    fn paired(socket: net::UnixStream) -> io::Result<UnixStream> {
        let io = Watched::new_duplex(socket, "UnixStream::pair")?;
        Ok(UnixStream { io: io.assume_ready(Ready::WRITABLE) })
    }

    /// Returns the credentials of the process at the other end.
    ///
    /// # Errors
    /// Returns an error if the system call fails.
    pub fn peer_cred(&self) -> io::Result<UCred> {
        credentials::peer_credentials(self.as_fd())
    }

    /// Borrows the stream as two halves, so that one task can read and write at the same time.
    pub fn split<'a>(&'a mut self) -> (ReadHalf<'a>, WriteHalf<'a>) {
        (ReadHalf(self), WriteHalf(self))
    }

    /// Splits the stream into two halves, which can move to different tasks.
    ///
    /// Dropping the writing half shuts down that direction: the peer reads the end of the stream.
    pub fn into_split(self) -> (OwnedReadHalf, OwnedWriteHalf) {
        split::into_split(self)
    }
}
