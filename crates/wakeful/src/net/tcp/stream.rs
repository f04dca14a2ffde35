use super::split::{self, OwnedReadHalf, OwnedWriteHalf, ReadHalf, WriteHalf};
use crate::io::{AsyncRead, AsyncWrite, Interest, ReadBuf, Ready, Watched};
use crate::net::addr::{ToSocketAddrs, no_address, resolve};
use crate::net::socket_type::{readiness_methods, std_conversions, stream_methods};
use crate::net::{receive, sockets};
use bytes::BufMut;
use socket2::{SockRef, Type};
use std::future::poll_fn;
use std::io::{self, IoSlice, IoSliceMut, Read, Write};
use std::net::{Shutdown, SocketAddr};
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

/// A TCP connection.
///
/// [`connect`](Self::connect) opens a connection,
/// [`TcpListener::accept`](crate::net::TcpListener::accept) waits for one. Read and write it
/// through [`AsyncRead`] and [`AsyncWrite`]; to do both at once, use [`split`](Self::split) or
/// [`into_split`](Self::into_split).
///
/// ```
/// # wakeful::runtime::Runtime::new().unwrap().block_on(async {
/// use wakeful::io::{AsyncReadExt, AsyncWriteExt};
/// use wakeful::net::{TcpListener, TcpStream};
///
/// let listener = TcpListener::bind("127.0.0.1:0").await?;
/// let mut client = TcpStream::connect(listener.local_addr()?).await?;
/// let (mut server, _) = listener.accept().await?;
/// server.write_all(b"welcome").await?;
///
/// let mut buf = [0; 7];
/// client.read_exact(&mut buf).await?;
/// assert_eq!(&buf, b"welcome");
/// # std::io::Result::Ok(()) }).unwrap();
/// ```
pub struct TcpStream {
    io: Watched<std::net::TcpStream>,
}

std_conversions!(TcpStream, std::net::TcpStream);
readiness_methods!(TcpStream);
stream_methods!(TcpStream);

impl TcpStream {
    /// Connects to `addr`.
    ///
    /// If `addr` resolves to several addresses, tries them in order until one succeeds.
    ///
    /// To set options first, use [`TcpSocket`](crate::net::TcpSocket).
    ///
    /// # Errors
    /// Returns the error of the last address if none succeeds.
    ///
    /// # Panics
    /// Panics if there is no current runtime, or its I/O driver is disabled.
    ///
    /// # Cancel safety
    /// If the future is dropped, the attempt is abandoned and its socket closed.
    pub async fn connect<A: ToSocketAddrs>(addr: A) -> io::Result<TcpStream> {
        let mut last_error = None;
        for address in resolve(addr).await? {
            match TcpStream::connect_to(address).await {
                Ok(stream) => return Ok(stream),
                Err(error) => last_error = Some(error),
            }
        }
        Err(last_error.unwrap_or_else(no_address))
    }

    async fn connect_to(address: SocketAddr) -> io::Result<TcpStream> {
        let socket = sockets::socket_for(address, Type::STREAM)?;
        sockets::start_connect(&socket, &address.into())?;
        TcpStream::connecting(socket.into(), "TcpStream::connect").await
    }

    /// Waits until a started connect has succeeded or failed.
    pub(super) async fn connecting(
        stream: std::net::TcpStream,
        call: &str,
    ) -> io::Result<TcpStream> {
        let stream = TcpStream { io: Watched::new_duplex(stream, call)? };
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
    pub(super) fn accepted(stream: std::net::TcpStream, call: &str) -> io::Result<TcpStream> {
        let io = Watched::new_duplex(stream, call)?;
        Ok(TcpStream { io: io.assume_ready(Ready::READABLE | Ready::WRITABLE) })
    }

    /// Waits for data and copies it without consuming it: the next read returns it again.
    ///
    /// # Cancel safety
    /// This method is cancel safe: if the future is dropped, no data is lost.
    ///
    /// # Errors
    /// Returns an error if the system call fails, or the runtime has shut down.
    ///
    /// ```
    /// # wakeful::runtime::Runtime::new().unwrap().block_on(async {
    /// use wakeful::io::{AsyncReadExt, AsyncWriteExt};
    /// use wakeful::net::{TcpListener, TcpStream};
    ///
    /// let listener = TcpListener::bind("127.0.0.1:0").await?;
    /// let mut client = TcpStream::connect(listener.local_addr()?).await?;
    /// let (mut server, _) = listener.accept().await?;
    /// client.write_all(b"GET").await?;
    ///
    /// let mut first = [0; 1];
    /// server.peek(&mut first).await?; // which protocol is it?
    /// assert_eq!(&first, b"G");
    /// let mut word = [0; 3];
    /// server.read_exact(&mut word).await?;
    /// assert_eq!(&word, b"GET");
    /// # std::io::Result::Ok(()) }).unwrap();
    /// ```
    pub async fn peek(&self, buf: &mut [u8]) -> io::Result<usize> {
        self.io.async_io(Interest::READABLE, || self.io.peek(buf)).await
    }

    /// Polls for data without removing it from the queue, like [`peek`](Self::peek).
    ///
    /// If several tasks poll for reading, here or through [`AsyncRead`], only the last one is
    /// woken.
    ///
    /// # Errors
    /// Returns an error if the system call fails, or the runtime has shut down.
    pub fn poll_peek(
        &self,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<usize>> {
        self.io.poll_read_io(cx, || receive::peek(&*self.io, buf))
    }

    /// Returns whether small writes are sent at once instead of being merged (`TCP_NODELAY`).
    ///
    /// # Errors
    /// Returns an error if the system call fails.
    pub fn nodelay(&self) -> io::Result<bool> {
        self.io.nodelay()
    }

    /// Sets [`nodelay`](Self::nodelay).
    ///
    /// # Errors
    /// Returns an error if the kernel rejects the value.
    pub fn set_nodelay(&self, nodelay: bool) -> io::Result<()> {
        self.io.set_nodelay(nodelay)
    }

    /// Returns whether received segments are acknowledged immediately (`TCP_QUICKACK`).
    ///
    /// # Errors
    /// Returns an error if the system call fails.
    #[cfg(any(target_os = "android", target_os = "linux"))]
    pub fn quickack(&self) -> io::Result<bool> {
        SockRef::from(&*self.io).tcp_quickack()
    }

    /// Sets [`quickack`](Self::quickack). The kernel may turn it off again later.
    ///
    /// # Errors
    /// Returns an error if the kernel rejects the value.
    #[cfg(any(target_os = "android", target_os = "linux"))]
    pub fn set_quickack(&self, quickack: bool) -> io::Result<()> {
        SockRef::from(&*self.io).set_tcp_quickack(quickack)
    }

    /// Returns how long closing the socket waits for unsent data (`SO_LINGER`).
    ///
    /// # Errors
    /// Returns an error if the system call fails.
    pub fn linger(&self) -> io::Result<Option<Duration>> {
        SockRef::from(&*self.io).linger()
    }

    /// Sets [`linger`](Self::linger).
    ///
    /// # Errors
    /// Returns an error if the kernel rejects the value.
    #[deprecated = "dropping the stream may block the thread; use `set_zero_linger` or `shutdown`"]
    pub fn set_linger(&self, dur: Option<Duration>) -> io::Result<()> {
        SockRef::from(&*self.io).set_linger(dur)
    }

    /// Makes the drop of the stream discard unsent data and reset the connection.
    ///
    /// # Errors
    /// Returns an error if the kernel rejects the value.
    pub fn set_zero_linger(&self) -> io::Result<()> {
        SockRef::from(&*self.io).set_linger(Some(Duration::ZERO))
    }

    /// Returns the number of hops an IPv4 packet may take (`IP_TTL`).
    ///
    /// # Errors
    /// Returns an error if the system call fails.
    pub fn ttl(&self) -> io::Result<u32> {
        self.io.ttl()
    }

    /// Sets [`ttl`](Self::ttl).
    ///
    /// # Errors
    /// Returns an error if the kernel rejects the value.
    pub fn set_ttl(&self, ttl: u32) -> io::Result<()> {
        self.io.set_ttl(ttl)
    }

    /// Borrows the stream as two halves, so that one task can read and write at the same time.
    ///
    /// ```
    /// # wakeful::runtime::Runtime::new().unwrap().block_on(async {
    /// use wakeful::io::{AsyncReadExt, AsyncWriteExt, copy};
    /// use wakeful::net::{TcpListener, TcpStream};
    ///
    /// let listener = TcpListener::bind("127.0.0.1:0").await?;
    /// let mut client = TcpStream::connect(listener.local_addr()?).await?;
    /// wakeful::spawn(async move {
    ///     let (mut stream, _) = listener.accept().await?;
    ///     let (mut reader, mut writer) = stream.split();
    ///     copy(&mut reader, &mut writer).await // an echo
    /// });
    /// client.write_all(b"hello").await?;
    /// let mut echo = [0; 5];
    /// client.read_exact(&mut echo).await?;
    /// assert_eq!(&echo, b"hello");
    /// # std::io::Result::Ok(()) }).unwrap();
    /// ```
    pub fn split<'a>(&'a mut self) -> (ReadHalf<'a>, WriteHalf<'a>) {
        (ReadHalf(self), WriteHalf(self))
    }

    /// Splits the stream into two halves, which can move to different tasks.
    ///
    /// Dropping the writing half shuts down that direction: the peer reads the end of the stream.
    ///
    /// ```
    /// # wakeful::runtime::Runtime::new().unwrap().block_on(async {
    /// use wakeful::io::{AsyncReadExt, AsyncWriteExt};
    /// use wakeful::net::{TcpListener, TcpStream};
    ///
    /// let listener = TcpListener::bind("127.0.0.1:0").await?;
    /// let client = TcpStream::connect(listener.local_addr()?).await?;
    /// let (mut server, _) = listener.accept().await?;
    ///
    /// let (reader, mut writer) = client.into_split();
    /// wakeful::spawn(async move { writer.write_all(b"all I have").await });
    /// let mut text = String::new();
    /// server.read_to_string(&mut text).await?; // ends with the drop of the writing half
    /// assert_eq!(text, "all I have");
    /// drop(reader);
    /// # std::io::Result::Ok(()) }).unwrap();
    /// ```
    pub fn into_split(self) -> (OwnedReadHalf, OwnedWriteHalf) {
        split::into_split(self)
    }
}
