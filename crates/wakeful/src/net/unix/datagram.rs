use super::SocketAddr;
use crate::io::{Interest, ReadBuf, Ready, Watched};
use crate::net::socket_type::{readiness_methods, std_conversions};
use crate::net::{receive, sockets};
use bytes::BufMut;
use socket2::{Domain, SockAddr, SockRef, Type};
use std::io;
use std::net::Shutdown;
use std::os::unix::net;
use std::path::Path;
use std::task::{Context, Poll};

/// A datagram socket between processes of one machine.
///
/// Delivery is reliable. All methods take `&self`: to use the socket in several tasks, put it into
/// an `Arc`. If a datagram is longer than the buffer, the rest of it is discarded.
///
/// ```
/// # wakeful::runtime::Runtime::new().unwrap().block_on(async {
/// use wakeful::net::UnixDatagram;
///
/// let (near, far) = UnixDatagram::pair()?;
/// near.send(b"ping").await?;
/// let mut buf = [0; 32];
/// let n = far.recv(&mut buf).await?;
/// assert_eq!(&buf[..n], b"ping");
/// # std::io::Result::Ok(()) }).unwrap();
/// ```
pub struct UnixDatagram {
    io: Watched<net::UnixDatagram>,
}

std_conversions!(UnixDatagram, net::UnixDatagram);
readiness_methods!(UnixDatagram);

impl UnixDatagram {
    /// Binds a socket to `path`. On Linux, a path that starts with a zero byte is an abstract name.
    ///
    /// # Errors
    /// Returns an error if the address cannot be bound; `AddrInUse` if the path exists.
    ///
    /// # Panics
    /// Panics if there is no current runtime, or its I/O driver is disabled.
    ///
    /// ```
    /// # wakeful::runtime::Runtime::new().unwrap().block_on(async {
    /// use wakeful::net::UnixDatagram;
    ///
    /// # let path = format!("wakeful-doc-datagram-{}", std::process::id());
    /// # let path = std::env::temp_dir().join(path);
    /// let server = UnixDatagram::bind(&path)?;
    /// let client = UnixDatagram::unbound()?; // has no address to reply to
    /// client.send_to(b"log this", &path).await?;
    ///
    /// let mut buf = [0; 32];
    /// let (n, from) = server.recv_from(&mut buf).await?;
    /// assert_eq!(&buf[..n], b"log this");
    /// assert!(from.is_unnamed());
    /// # std::fs::remove_file(path)?;
    /// # std::io::Result::Ok(()) }).unwrap();
    /// ```
    #[track_caller]
    pub fn bind<P>(path: P) -> io::Result<UnixDatagram>
    where
        P: AsRef<Path>,
    {
        let socket = sockets::socket(Domain::UNIX, Type::DGRAM, None)?;
        socket.bind(&kernel_address(path.as_ref())?)?;
        UnixDatagram::watch(socket.into(), "UnixDatagram::bind")
    }

    /// Creates two sockets that are connected to each other.
    ///
    /// # Errors
    /// Returns an error if the kernel cannot create a socket.
    ///
    /// # Panics
    /// Panics if there is no current runtime, or its I/O driver is disabled.
    #[track_caller]
    pub fn pair() -> io::Result<(UnixDatagram, UnixDatagram)> {
        let (a, b) = sockets::pair(Type::DGRAM)?;
        Ok((UnixDatagram::paired(a.into())?, UnixDatagram::paired(b.into())?))
    }

    #[track_caller]
    fn paired(socket: net::UnixDatagram) -> io::Result<UnixDatagram> {
        let io = Watched::new_duplex(socket, "UnixDatagram::pair")?;
        Ok(UnixDatagram { io: io.assume_ready(Ready::WRITABLE) })
    }

    /// Creates a socket without an address. It can send, but no other socket can send to it.
    ///
    /// # Errors
    /// Returns an error if the kernel cannot create a socket.
    ///
    /// # Panics
    /// Panics if there is no current runtime, or its I/O driver is disabled.
    #[track_caller]
    pub fn unbound() -> io::Result<UnixDatagram> {
        let socket = sockets::socket(Domain::UNIX, Type::DGRAM, None)?;
        UnixDatagram::watch(socket.into(), "UnixDatagram::unbound")
    }

    #[track_caller]
    pub(super) fn watch(socket: net::UnixDatagram, call: &str) -> io::Result<UnixDatagram> {
        Ok(UnixDatagram { io: Watched::new_duplex(socket, call)? })
    }

    /// Sets the default destination of the socket, and the only socket that it receives from.
    ///
    /// # Errors
    /// Returns an error if no socket is bound to `path`.
    pub fn connect<P: AsRef<Path>>(&self, path: P) -> io::Result<()> {
        SockRef::from(&*self.io).connect(&kernel_address(path.as_ref())?)
    }

    /// Polls until a datagram can be sent.
    ///
    /// If several tasks poll for writing, only the last one is woken.
    ///
    /// # Errors
    /// Returns an error if the runtime has shut down.
    pub fn poll_send_ready(&self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.io.poll_write_ready(cx)
    }

    /// Polls until a datagram has arrived.
    ///
    /// If several tasks poll for reading, only the last one is woken.
    ///
    /// # Errors
    /// Returns an error if the runtime has shut down.
    pub fn poll_recv_ready(&self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.io.poll_read_ready(cx)
    }

    /// Sends a datagram to the connected socket.
    ///
    /// # Errors
    /// Returns an error if the system call fails, or the runtime has shut down.
    ///
    /// # Cancel safety
    /// This method is cancel safe: if the future is dropped, the datagram was not sent.
    pub async fn send(&self, buf: &[u8]) -> io::Result<usize> {
        self.io.async_io(Interest::WRITABLE, || self.io.send(buf)).await
    }

    /// Polls to send a datagram, like [`send`](Self::send).
    ///
    /// If several tasks poll for writing, only the last one is woken.
    ///
    /// # Errors
    /// Returns the errors of `send`.
    pub fn poll_send(&self, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        self.io.poll_write_io(cx, || self.io.send(buf))
    }

    /// Tries to send a datagram, like [`send`](Self::send) but without waiting.
    ///
    /// # Errors
    /// Returns `WouldBlock` if the send buffer is full. To wait, use [`writable`](Self::writable).
    pub fn try_send(&self, buf: &[u8]) -> io::Result<usize> {
        self.io.try_io(Interest::WRITABLE, || self.io.send(buf))
    }

    /// Sends a datagram to the socket at `target`.
    ///
    /// # Errors
    /// Returns an error if the system call fails, or the runtime has shut down.
    ///
    /// # Cancel safety
    /// This method is cancel safe: if the future is dropped, the datagram was not sent.
    pub async fn send_to<P>(&self, buf: &[u8], target: P) -> io::Result<usize>
    where
        P: AsRef<Path>,
    {
        self.io.async_io(Interest::WRITABLE, || self.send_now(buf, target.as_ref())).await
    }

    /// Polls to send a datagram, like [`send_to`](Self::send_to).
    ///
    /// If several tasks poll for writing, only the last one is woken.
    ///
    /// # Errors
    /// Returns the errors of `send_to`.
    pub fn poll_send_to<P>(
        &self,
        cx: &mut Context<'_>,
        buf: &[u8],
        target: P,
    ) -> Poll<io::Result<usize>>
    where
        P: AsRef<Path>,
    {
        self.io.poll_write_io(cx, || self.send_now(buf, target.as_ref()))
    }

    /// Tries to send a datagram, like [`send_to`](Self::send_to) but without waiting.
    ///
    /// # Errors
    /// Returns `WouldBlock` if the send buffer is full. To wait, use [`writable`](Self::writable).
    pub fn try_send_to<P>(&self, buf: &[u8], target: P) -> io::Result<usize>
    where
        P: AsRef<Path>,
    {
        self.io.try_io(Interest::WRITABLE, || self.send_now(buf, target.as_ref()))
    }

    fn send_now(&self, buf: &[u8], target: &Path) -> io::Result<usize> {
        SockRef::from(&*self.io).send_to(buf, &kernel_address(target)?)
    }

    /// Receives a datagram.
    ///
    /// # Errors
    /// Returns an error if the system call fails, or the runtime has shut down.
    ///
    /// # Cancel safety
    /// This method is cancel safe: if the future is dropped, no datagram is lost.
    pub async fn recv(&self, buf: &mut [u8]) -> io::Result<usize> {
        self.io.async_io(Interest::READABLE, || self.io.recv(buf)).await
    }

    /// Polls for a datagram, like [`recv`](Self::recv).
    ///
    /// If several tasks poll for reading, only the last one is woken.
    ///
    /// # Errors
    /// Returns the errors of `recv`.
    pub fn poll_recv(&self, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        self.io.poll_read_io(cx, || receive::recv(&*self.io, buf)).map_ok(|_| ())
    }

    /// Tries to receive a datagram, like [`recv`](Self::recv) but without waiting.
    ///
    /// # Errors
    /// Returns `WouldBlock` if no datagram is available. To wait, use [`readable`](Self::readable).
    pub fn try_recv(&self, buf: &mut [u8]) -> io::Result<usize> {
        self.io.try_io(Interest::READABLE, || self.io.recv(buf))
    }

    /// Receives a datagram and appends it to `buf`. The spare capacity of `buf` limits its length.
    ///
    /// # Errors
    /// Returns the errors of `recv`.
    pub async fn recv_buf<B: BufMut>(&self, buf: &mut B) -> io::Result<usize> {
        self.io.async_io(Interest::READABLE, || receive::recv(&*self.io, buf)).await
    }

    /// Tries to receive a datagram, like [`recv_buf`](Self::recv_buf) but without waiting.
    ///
    /// # Errors
    /// Returns `WouldBlock` if no datagram is available.
    pub fn try_recv_buf<B: BufMut>(&self, buf: &mut B) -> io::Result<usize> {
        self.io.try_io(Interest::READABLE, || receive::recv(&*self.io, buf))
    }

    /// Receives a datagram, and returns its length and its sender.
    ///
    /// # Errors
    /// Returns an error if the system call fails, or the runtime has shut down.
    ///
    /// # Cancel safety
    /// This method is cancel safe: if the future is dropped, no datagram is lost.
    pub async fn recv_from(&self, buf: &mut [u8]) -> io::Result<(usize, SocketAddr)> {
        let (n, from) = self.io.async_io(Interest::READABLE, || self.io.recv_from(buf)).await?;
        Ok((n, from.into()))
    }

    /// Polls for a datagram, like [`recv_from`](Self::recv_from).
    ///
    /// If several tasks poll for reading, only the last one is woken.
    ///
    /// # Errors
    /// Returns the errors of `recv_from`.
    pub fn poll_recv_from(
        &self,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<SocketAddr>> {
        let received = self.io.poll_read_io(cx, || addressed(receive::recv_from(&*self.io, buf)));
        received.map_ok(|(_, from)| from)
    }

    /// Tries to receive a datagram, like [`recv_from`](Self::recv_from) but without waiting.
    ///
    /// # Errors
    /// Returns `WouldBlock` if no datagram is available.
    pub fn try_recv_from(&self, buf: &mut [u8]) -> io::Result<(usize, SocketAddr)> {
        let (n, from) = self.io.try_io(Interest::READABLE, || self.io.recv_from(buf))?;
        Ok((n, from.into()))
    }

    /// Receives a datagram and appends it to `buf`, like [`recv_from`](Self::recv_from).
    ///
    /// The spare capacity of `buf` limits the length of the datagram.
    ///
    /// # Errors
    /// Returns the errors of `recv_from`.
    pub async fn recv_buf_from<B: BufMut>(&self, buf: &mut B) -> io::Result<(usize, SocketAddr)> {
        let receive = || addressed(receive::recv_from(&*self.io, buf));
        self.io.async_io(Interest::READABLE, receive).await
    }

    /// Tries to receive like [`recv_buf_from`](Self::recv_buf_from), without waiting.
    ///
    /// # Errors
    /// Returns `WouldBlock` if no datagram is available.
    pub fn try_recv_buf_from<B: BufMut>(&self, buf: &mut B) -> io::Result<(usize, SocketAddr)> {
        self.io.try_io(Interest::READABLE, || addressed(receive::recv_from(&*self.io, buf)))
    }

    /// Returns the address of this socket.
    ///
    /// # Errors
    /// Returns an error if the system call fails.
    pub fn local_addr(&self) -> io::Result<SocketAddr> {
        self.io.local_addr().map(SocketAddr::from)
    }

    /// Returns the address of the socket that this one is connected to.
    ///
    /// # Errors
    /// Returns an error if the socket is not connected.
    pub fn peer_addr(&self) -> io::Result<SocketAddr> {
        self.io.peer_addr().map(SocketAddr::from)
    }

    /// Returns the pending error of the socket (`SO_ERROR`), and clears it.
    ///
    /// # Errors
    /// Returns an error if the system call fails.
    pub fn take_error(&self) -> io::Result<Option<io::Error>> {
        self.io.take_error()
    }

    /// Shuts down sending, receiving, or both. Tasks that wait for that direction are woken.
    ///
    /// # Errors
    /// Returns an error if the socket is not connected.
    pub fn shutdown(&self, how: Shutdown) -> io::Result<()> {
        self.io.shutdown(how)
    }
}

fn kernel_address(path: &Path) -> io::Result<SockAddr> {
    SocketAddr::of_path(path)?.to_kernel()
}

fn addressed(received: io::Result<(usize, SockAddr)>) -> io::Result<(usize, SocketAddr)> {
    let (n, from) = received?;
    Ok((n, SocketAddr::from_kernel(&from)?))
}
