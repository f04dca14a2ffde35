use super::SocketAddr;
use crate::io::{Interest, ReadBuf, Ready, Watched};
use crate::net::socket_type::{awaits_readiness, like_std};
use crate::net::{receive, sockets};
use bytes::BufMut;
use socket2::{Domain, SockAddr, SockRef, Type};
use std::io;
use std::net::Shutdown;
use std::os::unix::net;
use std::path::Path;
use std::task::{Context, Poll};

/// A socket for datagrams between processes of one machine, none of which gets lost.
///
/// All methods take `&self`: share it in an `Arc` between tasks that send and tasks that receive. A
/// datagram that is longer than the buffer loses its end. A wait that is dropped neither loses nor sends
/// one.
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

like_std!(UnixDatagram, net::UnixDatagram);
awaits_readiness!(UnixDatagram);

impl UnixDatagram {
    /// A socket at `path`. On Linux one that begins with a zero byte is an abstract name.
    ///
    /// # Errors
    /// If that is not possible; with `AddrInUse` if the path exists.
    ///
    /// # Panics
    /// Outside of a runtime with I/O.
    ///
    /// ```
    /// # wakeful::runtime::Runtime::new().unwrap().block_on(async {
    /// use wakeful::net::UnixDatagram;
    ///
    /// # let path = std::env::temp_dir().join(format!("wakeful-doc-datagram-{}", std::process::id()));
    /// let server = UnixDatagram::bind(&path)?;
    /// let client = UnixDatagram::unbound()?; // nobody can answer it
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

    /// Two sockets, each connected to the other.
    ///
    /// # Errors
    /// If the kernel gives none.
    ///
    /// # Panics
    /// Outside of a runtime with I/O.
    #[track_caller]
    pub fn pair() -> io::Result<(UnixDatagram, UnixDatagram)> {
        let (a, b) = sockets::pair(Type::DGRAM)?;
        Ok((UnixDatagram::paired(a.into())?, UnixDatagram::paired(b.into())?))
    }

    #[track_caller]
    fn paired(socket: net::UnixDatagram) -> io::Result<UnixDatagram> {
        let io = Watched::new_duplex(socket, "UnixDatagram::pair")?;
        Ok(UnixDatagram { io: io.assuming(Ready::WRITABLE) })
    }

    /// A socket without an address, which can send only.
    ///
    /// # Errors
    /// If the kernel gives none.
    ///
    /// # Panics
    /// Outside of a runtime with I/O.
    #[track_caller]
    pub fn unbound() -> io::Result<UnixDatagram> {
        let socket = sockets::socket(Domain::UNIX, Type::DGRAM, None)?;
        UnixDatagram::watch(socket.into(), "UnixDatagram::unbound")
    }

    #[track_caller]
    pub(super) fn watch(socket: net::UnixDatagram, call: &str) -> io::Result<UnixDatagram> {
        Ok(UnixDatagram { io: Watched::new_duplex(socket, call)? })
    }

    /// Lets it send to the socket at `path` by default, and receive from there only.
    ///
    /// # Errors
    /// If there is none.
    pub fn connect<P: AsRef<Path>>(&self, path: P) -> io::Result<()> {
        SockRef::from(&*self.io).connect(&kernel_address(path.as_ref())?)
    }

    /// Waits until a datagram can be sent, on behalf of the task of `cx`. Of several tasks the last one is
    /// called only.
    ///
    /// # Errors
    /// If the runtime has shut down.
    pub fn poll_send_ready(&self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.io.poll_write_ready(cx)
    }

    /// Waits until a datagram has come, on behalf of the task of `cx`. Of several tasks the last one is
    /// called only.
    ///
    /// # Errors
    /// If the runtime has shut down.
    pub fn poll_recv_ready(&self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.io.poll_read_ready(cx)
    }

    /// Sends a datagram to the socket it is connected to.
    ///
    /// # Errors
    /// Those of the kernel, or that the runtime has shut down.
    ///
    /// # Cancel safety
    /// Dropped before it is done, it has sent nothing.
    pub async fn send(&self, buf: &[u8]) -> io::Result<usize> {
        self.io.async_io(Interest::WRITABLE, || self.io.send(buf)).await
    }

    /// As [`send`](Self::send), on behalf of the task of `cx`. Of several tasks the last one is called
    /// only.
    ///
    /// # Errors
    /// As `send`.
    pub fn poll_send(&self, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        self.io.poll_write_io(cx, || self.io.send(buf))
    }

    /// As [`send`](Self::send), without waiting.
    ///
    /// # Errors
    /// `WouldBlock` if there is no room: [`writable`](Self::writable) waits for some.
    pub fn try_send(&self, buf: &[u8]) -> io::Result<usize> {
        self.io.try_io(Interest::WRITABLE, || self.io.send(buf))
    }

    /// Sends a datagram to the socket at `target`.
    ///
    /// # Errors
    /// Those of the kernel, or that the runtime has shut down.
    ///
    /// # Cancel safety
    /// Dropped before it is done, it has sent nothing.
    pub async fn send_to<P>(&self, buf: &[u8], target: P) -> io::Result<usize>
    where
        P: AsRef<Path>,
    {
        self.io.async_io(Interest::WRITABLE, || self.send_now(buf, target.as_ref())).await
    }

    /// As [`send_to`](Self::send_to), on behalf of the task of `cx`. Of several tasks the last one is
    /// called only.
    ///
    /// # Errors
    /// As `send_to`.
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

    /// As [`send_to`](Self::send_to), without waiting.
    ///
    /// # Errors
    /// `WouldBlock` if there is no room: [`writable`](Self::writable) waits for some.
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
    /// Those of the kernel, or that the runtime has shut down.
    ///
    /// # Cancel safety
    /// Dropped before it is done, it has received nothing.
    pub async fn recv(&self, buf: &mut [u8]) -> io::Result<usize> {
        self.io.async_io(Interest::READABLE, || self.io.recv(buf)).await
    }

    /// As [`recv`](Self::recv), on behalf of the task of `cx`. Of several tasks the last one is called
    /// only.
    ///
    /// # Errors
    /// As `recv`.
    pub fn poll_recv(&self, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        self.io.poll_read_io(cx, || receive::recv(&*self.io, buf)).map_ok(|_| ())
    }

    /// As [`recv`](Self::recv), without waiting.
    ///
    /// # Errors
    /// `WouldBlock` if there is nothing yet: [`readable`](Self::readable) waits for more.
    pub fn try_recv(&self, buf: &mut [u8]) -> io::Result<usize> {
        self.io.try_io(Interest::READABLE, || self.io.recv(buf))
    }

    /// As [`recv`](Self::recv), to the end of a buffer, of which there should be enough.
    ///
    /// # Errors
    /// As `recv`.
    pub async fn recv_buf<B: BufMut>(&self, buf: &mut B) -> io::Result<usize> {
        self.io.async_io(Interest::READABLE, || receive::recv(&*self.io, buf)).await
    }

    /// As [`recv_buf`](Self::recv_buf), without waiting.
    ///
    /// # Errors
    /// `WouldBlock` if there is nothing yet.
    pub fn try_recv_buf<B: BufMut>(&self, buf: &mut B) -> io::Result<usize> {
        self.io.try_io(Interest::READABLE, || receive::recv(&*self.io, buf))
    }

    /// Receives a datagram, and tells which socket sent it.
    ///
    /// # Errors
    /// Those of the kernel, or that the runtime has shut down.
    ///
    /// # Cancel safety
    /// Dropped before it is done, it has received nothing.
    pub async fn recv_from(&self, buf: &mut [u8]) -> io::Result<(usize, SocketAddr)> {
        let (n, from) = self.io.async_io(Interest::READABLE, || self.io.recv_from(buf)).await?;
        Ok((n, from.into()))
    }

    /// As [`recv_from`](Self::recv_from), on behalf of the task of `cx`. Of several tasks the last one is
    /// called only.
    ///
    /// # Errors
    /// As `recv_from`.
    pub fn poll_recv_from(
        &self,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<SocketAddr>> {
        let received = self.io.poll_read_io(cx, || addressed(receive::recv_from(&*self.io, buf)));
        received.map_ok(|(_, from)| from)
    }

    /// As [`recv_from`](Self::recv_from), without waiting.
    ///
    /// # Errors
    /// `WouldBlock` if there is nothing yet.
    pub fn try_recv_from(&self, buf: &mut [u8]) -> io::Result<(usize, SocketAddr)> {
        let (n, from) = self.io.try_io(Interest::READABLE, || self.io.recv_from(buf))?;
        Ok((n, from.into()))
    }

    /// As [`recv_from`](Self::recv_from), to the end of a buffer, of which there should be enough.
    ///
    /// # Errors
    /// As `recv_from`.
    pub async fn recv_buf_from<B: BufMut>(&self, buf: &mut B) -> io::Result<(usize, SocketAddr)> {
        let receive = || addressed(receive::recv_from(&*self.io, buf));
        self.io.async_io(Interest::READABLE, receive).await
    }

    /// As [`recv_buf_from`](Self::recv_buf_from), without waiting.
    ///
    /// # Errors
    /// `WouldBlock` if there is nothing yet.
    pub fn try_recv_buf_from<B: BufMut>(&self, buf: &mut B) -> io::Result<(usize, SocketAddr)> {
        self.io.try_io(Interest::READABLE, || addressed(receive::recv_from(&*self.io, buf)))
    }

    /// The address of this socket.
    ///
    /// # Errors
    /// If the kernel does not know it.
    pub fn local_addr(&self) -> io::Result<SocketAddr> {
        self.io.local_addr().map(SocketAddr::from)
    }

    /// The address of the socket it is connected to.
    ///
    /// # Errors
    /// If it is not.
    pub fn peer_addr(&self) -> io::Result<SocketAddr> {
        self.io.peer_addr().map(SocketAddr::from)
    }

    /// The error that is pending on the socket, which is none afterwards.
    ///
    /// # Errors
    /// If the kernel cannot tell.
    pub fn take_error(&self) -> io::Result<Option<io::Error>> {
        self.io.take_error()
    }

    /// Ends sending, receiving or both; who waits for what was ended is called.
    ///
    /// # Errors
    /// If it is not connected.
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
