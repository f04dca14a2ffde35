use super::split::{self, OwnedReadHalf, OwnedWriteHalf, ReadHalf, WriteHalf};
use super::{SocketAddr, UCred, credentials};
use crate::io::{AsyncRead, AsyncWrite, Interest, ReadBuf, Ready, Watched};
use crate::net::socket_type::{awaits_readiness, like_std, transfers_bytes};
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

like_std!(UnixStream, net::UnixStream);
awaits_readiness!(UnixStream);
transfers_bytes!(UnixStream);

impl UnixStream {
    /// Connects to whoever listens at `path`. On Linux one that begins with a zero byte is an abstract
    /// name.
    ///
    /// # Errors
    /// If that is not possible.
    ///
    /// # Panics
    /// Outside of a runtime with I/O.
    ///
    /// # Cancel safety
    /// Dropped before it is done, the attempt is given up and its socket closed.
    pub async fn connect<P>(path: P) -> io::Result<UnixStream>
    where
        P: AsRef<Path>,
    {
        let address = SocketAddr::of_path(path.as_ref())?;
        UnixStream::connect_addr(&address).await
    }

    /// Connects to whoever listens at an address.
    ///
    /// # Errors
    /// If that is not possible.
    ///
    /// # Panics
    /// Outside of a runtime with I/O.
    pub async fn connect_addr(socket_addr: &SocketAddr) -> io::Result<UnixStream> {
        let socket = sockets::socket(Domain::UNIX, Type::STREAM, None)?;
        sockets::start_connect(&socket, &socket_addr.to_kernel()?)?;
        UnixStream::connecting(socket.into(), "UnixStream::connect").await
    }

    /// Waits for the end of a connect under way.
    pub(super) async fn connecting(stream: net::UnixStream, call: &str) -> io::Result<UnixStream> {
        let stream = UnixStream { io: Watched::new_duplex(stream, call)? };
        // Writable is what it becomes when connected, and also when it failed.
        poll_fn(|cx| stream.io.poll_write_ready(cx)).await?;
        match stream.io.take_error()? {
            Some(error) => Err(error),
            None => Ok(stream),
        }
    }

    /// A connection just accepted, whose first read and write are tried without waiting for an event.
    #[track_caller]
    pub(super) fn accepted(stream: net::UnixStream, call: &str) -> io::Result<UnixStream> {
        let io = Watched::new_duplex(stream, call)?;
        Ok(UnixStream { io: io.assuming(Ready::READABLE | Ready::WRITABLE) })
    }

    /// Two streams, each connected to the other.
    ///
    /// # Errors
    /// If the kernel gives none.
    ///
    /// # Panics
    /// Outside of a runtime with I/O.
    #[track_caller]
    pub fn pair() -> io::Result<(UnixStream, UnixStream)> {
        let (a, b) = sockets::pair(Type::STREAM)?;
        Ok((UnixStream::paired(a.into())?, UnixStream::paired(b.into())?))
    }

    #[track_caller]
    fn paired(socket: net::UnixStream) -> io::Result<UnixStream> {
        let io = Watched::new_duplex(socket, "UnixStream::pair")?;
        Ok(UnixStream { io: io.assuming(Ready::WRITABLE) })
    }

    /// Who is at the other end.
    ///
    /// # Errors
    /// If the kernel cannot tell.
    pub fn peer_cred(&self) -> io::Result<UCred> {
        credentials::peer_credentials(self.as_fd())
    }

    /// A half to read and a half to write, both borrowed: for one task that does both at once.
    pub fn split<'a>(&'a mut self) -> (ReadHalf<'a>, WriteHalf<'a>) {
        (ReadHalf(self), WriteHalf(self))
    }

    /// A half to read and a half to write, which can go to two tasks.
    ///
    /// The drop of the writing half says to the other end that nothing more comes.
    pub fn into_split(self) -> (OwnedReadHalf, OwnedWriteHalf) {
        split::into_split(self)
    }
}
