use super::addr::{ToSocketAddrs, first_that_works, resolve};
use super::socket_type::{awaits_readiness, like_std};
use super::{receive, sockets};
use crate::io::{Interest, ReadBuf, Ready, Watched};
use bytes::BufMut;
use socket2::{SockAddr, Type};
use std::io;
use std::net::SocketAddr;
use std::task::{Context, Poll};

mod options;
mod peek;

/// A UDP socket.
///
/// One socket talks to many others by [`send_to`](Self::send_to) and [`recv_from`](Self::recv_from), or to
/// a single one by [`send`](Self::send) and [`recv`](Self::recv) once it is
/// [connected](Self::connect). All of these take `&self`: share it in an `Arc` between tasks that send and
/// tasks that receive. A datagram that is longer than the buffer loses its end.
///
/// A wait that is dropped neither loses nor sends a datagram.
///
/// ```
/// # wakeful::runtime::Runtime::new().unwrap().block_on(async {
/// use wakeful::net::UdpSocket;
///
/// let server = UdpSocket::bind("127.0.0.1:0").await?;
/// let client = UdpSocket::bind("127.0.0.1:0").await?;
/// client.send_to(b"ping", server.local_addr()?).await?;
///
/// let mut buf = [0; 32];
/// let (n, peer) = server.recv_from(&mut buf).await?;
/// assert_eq!((&buf[..n], peer), (&b"ping"[..], client.local_addr()?));
/// # std::io::Result::Ok(()) }).unwrap();
/// ```
pub struct UdpSocket {
    io: Watched<std::net::UdpSocket>,
}

/// What a receiver waits for. A refusal that came back for what was sent is reported as an error only.
const TO_RECEIVE: Interest = Interest::READABLE.add(Interest::ERROR);

like_std!(UdpSocket, std::net::UdpSocket);
awaits_readiness!(UdpSocket);

impl UdpSocket {
    /// A socket at `addr`; of several addresses, at the first one where that is possible. Port 0 is one
    /// that the operating system chooses.
    ///
    /// # Errors
    /// If it is possible at none of them.
    ///
    /// # Panics
    /// Outside of a runtime with I/O.
    pub async fn bind<A: ToSocketAddrs>(addr: A) -> io::Result<UdpSocket> {
        first_that_works(addr, |address| {
            let socket = sockets::socket_for(address, Type::DGRAM)?;
            socket.bind(&address.into())?;
            Ok(UdpSocket { io: Watched::new_duplex(socket.into(), "UdpSocket::bind")? })
        })
        .await
    }

    /// Lets it send to `addr` by default, and receive from there only.
    ///
    /// # Errors
    /// That of the last address, if it is possible at none.
    ///
    /// ```
    /// # wakeful::runtime::Runtime::new().unwrap().block_on(async {
    /// use wakeful::net::UdpSocket;
    ///
    /// let server = UdpSocket::bind("127.0.0.1:0").await?;
    /// let client = UdpSocket::bind("127.0.0.1:0").await?;
    /// client.connect(server.local_addr()?).await?;
    /// client.send(b"question").await?;
    ///
    /// let mut buf = [0; 32];
    /// let (n, from) = server.recv_from(&mut buf).await?;
    /// server.send_to(&buf[..n], from).await?;
    /// assert_eq!(client.recv(&mut buf).await?, 8);
    /// # std::io::Result::Ok(()) }).unwrap();
    /// ```
    pub async fn connect<A: ToSocketAddrs>(&self, addr: A) -> io::Result<()> {
        first_that_works(addr, |address| self.io.connect(address)).await
    }

    /// The address it is bound to.
    ///
    /// # Errors
    /// If the kernel does not know it.
    pub fn local_addr(&self) -> io::Result<SocketAddr> {
        self.io.local_addr()
    }

    /// The address it is connected to.
    ///
    /// # Errors
    /// If it is not.
    pub fn peer_addr(&self) -> io::Result<SocketAddr> {
        self.io.peer_addr()
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

    /// Sends a datagram to the address it is [connected](Self::connect) to.
    ///
    /// # Errors
    /// Those of the kernel, among them that an earlier one was refused at the other end.
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

    /// Sends a datagram to `target`; of several addresses, to the first one.
    ///
    /// # Errors
    /// Those of the kernel, or that `target` has no address.
    ///
    /// # Cancel safety
    /// Dropped before it is done, it has sent nothing.
    pub async fn send_to<A: ToSocketAddrs>(&self, buf: &[u8], target: A) -> io::Result<usize> {
        let Some(target) = resolve(target).await?.next() else {
            let why = "no addresses to send data to";
            return Err(io::Error::new(io::ErrorKind::InvalidInput, why));
        };
        self.io.async_io(Interest::WRITABLE, || self.io.send_to(buf, target)).await
    }

    /// As [`send_to`](Self::send_to), on behalf of the task of `cx`. Of several tasks the last one is
    /// called only.
    ///
    /// # Errors
    /// As `send_to`.
    pub fn poll_send_to(
        &self,
        cx: &mut Context<'_>,
        buf: &[u8],
        target: SocketAddr,
    ) -> Poll<io::Result<usize>> {
        self.io.poll_write_io(cx, || self.io.send_to(buf, target))
    }

    /// As [`send_to`](Self::send_to), without waiting.
    ///
    /// # Errors
    /// `WouldBlock` if there is no room: [`writable`](Self::writable) waits for some.
    pub fn try_send_to(&self, buf: &[u8], target: SocketAddr) -> io::Result<usize> {
        self.io.try_io(Interest::WRITABLE, || self.io.send_to(buf, target))
    }

    /// Receives a datagram, of the address it is [connected](Self::connect) to if it is.
    ///
    /// # Errors
    /// Those of the kernel, among them that a datagram sent was refused at the other end.
    ///
    /// # Cancel safety
    /// Dropped before it is done, it has received nothing.
    pub async fn recv(&self, buf: &mut [u8]) -> io::Result<usize> {
        self.io.async_io(TO_RECEIVE, || self.io.recv(buf)).await
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
        self.io.async_io(TO_RECEIVE, || receive::recv(&*self.io, buf)).await
    }

    /// As [`recv_buf`](Self::recv_buf), without waiting.
    ///
    /// # Errors
    /// `WouldBlock` if there is nothing yet.
    pub fn try_recv_buf<B: BufMut>(&self, buf: &mut B) -> io::Result<usize> {
        self.io.try_io(Interest::READABLE, || receive::recv(&*self.io, buf))
    }

    /// Receives a datagram, and tells where it came from.
    ///
    /// # Errors
    /// Those of the kernel.
    ///
    /// # Cancel safety
    /// Dropped before it is done, it has received nothing.
    pub async fn recv_from(&self, buf: &mut [u8]) -> io::Result<(usize, SocketAddr)> {
        self.io.async_io(TO_RECEIVE, || self.io.recv_from(buf)).await
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
    ///
    /// All that is there, and then a wait for more:
    ///
    /// ```
    /// # wakeful::runtime::Runtime::new().unwrap().block_on(async {
    /// use std::io::ErrorKind;
    /// use wakeful::net::UdpSocket;
    ///
    /// let (one, other) = (UdpSocket::bind("127.0.0.1:0").await?, UdpSocket::bind("127.0.0.1:0").await?);
    /// for number in 1..=3 {
    ///     other.send_to(&[number], one.local_addr()?).await?;
    /// }
    ///
    /// let (mut sum, mut buf) = (0, [0; 32]);
    /// while sum < 6 {
    ///     one.readable().await?;
    ///     loop {
    ///         match one.try_recv_from(&mut buf) {
    ///             Ok((_, _from)) => sum += buf[0],
    ///             Err(error) if error.kind() == ErrorKind::WouldBlock => break,
    ///             Err(error) => return Err(error),
    ///         }
    ///     }
    /// }
    /// # std::io::Result::Ok(()) }).unwrap();
    /// ```
    pub fn try_recv_from(&self, buf: &mut [u8]) -> io::Result<(usize, SocketAddr)> {
        self.io.try_io(Interest::READABLE, || self.io.recv_from(buf))
    }

    /// As [`recv_from`](Self::recv_from), to the end of a buffer, of which there should be enough.
    ///
    /// # Errors
    /// As `recv_from`.
    pub async fn recv_buf_from<B: BufMut>(&self, buf: &mut B) -> io::Result<(usize, SocketAddr)> {
        self.io.async_io(TO_RECEIVE, || addressed(receive::recv_from(&*self.io, buf))).await
    }

    /// As [`recv_buf_from`](Self::recv_buf_from), without waiting.
    ///
    /// # Errors
    /// `WouldBlock` if there is nothing yet.
    pub fn try_recv_buf_from<B: BufMut>(&self, buf: &mut B) -> io::Result<(usize, SocketAddr)> {
        self.io.try_io(Interest::READABLE, || addressed(receive::recv_from(&*self.io, buf)))
    }
}

fn addressed(received: io::Result<(usize, SockAddr)>) -> io::Result<(usize, SocketAddr)> {
    let (n, from) = received?;
    Ok((n, sockets::inet_address(&from)?))
}
