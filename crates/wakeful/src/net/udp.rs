use super::addr::{ToSocketAddrs, first_success, resolve};
use super::socket_type::{readiness_methods, std_conversions};
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
/// With [`send_to`](Self::send_to) and [`recv_from`](Self::recv_from), one socket talks to many
/// peers. Once it is [connected](Self::connect), [`send`](Self::send) and [`recv`](Self::recv) talk
/// to one.
///
/// All of these methods take `&self`: to use the socket in several tasks, put it into an `Arc`. If
/// a datagram is longer than the buffer, the rest of it is discarded.
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

/// What a receiver waits for. If the peer refused an earlier datagram, the kernel may report only
/// an error, and no readability.
const RECV_INTEREST: Interest = Interest::READABLE.add(Interest::ERROR);

std_conversions!(UdpSocket, std::net::UdpSocket);
readiness_methods!(UdpSocket);

impl UdpSocket {
    /// Binds a socket to `addr`.
    ///
    /// If `addr` resolves to several addresses, uses the first that can be bound.
    ///
    /// With port 0 the operating system chooses the port; [`local_addr`](Self::local_addr) returns
    /// it.
    ///
    /// # Errors
    /// Returns an error if none of the addresses can be bound.
    ///
    /// # Panics
    /// Panics if there is no current runtime, or its I/O driver is disabled.
    pub async fn bind<A: ToSocketAddrs>(addr: A) -> io::Result<UdpSocket> {
        first_success(addr, |address| {
            let socket = sockets::socket_for(address, Type::DGRAM)?;
            socket.bind(&address.into())?;
            Ok(UdpSocket { io: Watched::new_duplex(socket.into(), "UdpSocket::bind")? })
        })
        .await
    }

    /// Sets the default destination of the socket, and the only address that it receives from.
    ///
    /// # Errors
    /// Returns the error of the last address if none succeeds.
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
        first_success(addr, |address| self.io.connect(address)).await
    }

    /// Returns the address that the socket is bound to.
    ///
    /// # Errors
    /// Returns an error if the system call fails.
    pub fn local_addr(&self) -> io::Result<SocketAddr> {
        self.io.local_addr()
    }

    /// Returns the address that the socket is connected to.
    ///
    /// # Errors
    /// Returns an error if the socket is not connected.
    pub fn peer_addr(&self) -> io::Result<SocketAddr> {
        self.io.peer_addr()
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

    /// Sends a datagram to the address that the socket is [connected](Self::connect) to.
    ///
    /// # Errors
    /// Returns an error if the system call fails. This includes a refusal of an earlier datagram by
    /// the peer.
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

    /// Sends a datagram to `target`. If `target` resolves to several addresses, uses the first.
    ///
    /// # Errors
    /// Returns an error if the system call fails, or `target` resolves to no address.
    ///
    /// # Cancel safety
    /// This method is cancel safe: if the future is dropped, the datagram was not sent.
    pub async fn send_to<A: ToSocketAddrs>(&self, buf: &[u8], target: A) -> io::Result<usize> {
        let Some(target) = resolve(target).await?.next() else {
            let why = "no addresses to send data to";
            return Err(io::Error::new(io::ErrorKind::InvalidInput, why));
        };
        self.io.async_io(Interest::WRITABLE, || self.io.send_to(buf, target)).await
    }

    /// Polls to send a datagram, like [`send_to`](Self::send_to).
    ///
    /// If several tasks poll for writing, only the last one is woken.
    ///
    /// # Errors
    /// Returns the errors of `send_to`.
    pub fn poll_send_to(
        &self,
        cx: &mut Context<'_>,
        buf: &[u8],
        target: SocketAddr,
    ) -> Poll<io::Result<usize>> {
        self.io.poll_write_io(cx, || self.io.send_to(buf, target))
    }

    /// Tries to send a datagram, like [`send_to`](Self::send_to) but without waiting.
    ///
    /// # Errors
    /// Returns `WouldBlock` if the send buffer is full. To wait, use [`writable`](Self::writable).
    pub fn try_send_to(&self, buf: &[u8], target: SocketAddr) -> io::Result<usize> {
        self.io.try_io(Interest::WRITABLE, || self.io.send_to(buf, target))
    }

    /// Receives a datagram.
    ///
    /// If the socket is [connected](Self::connect), it comes from that address.
    ///
    /// # Errors
    /// Returns an error if the system call fails. This includes a refusal of a sent datagram by the
    /// peer.
    ///
    /// # Cancel safety
    /// This method is cancel safe: if the future is dropped, no datagram is lost.
    pub async fn recv(&self, buf: &mut [u8]) -> io::Result<usize> {
        self.io.async_io(RECV_INTEREST, || self.io.recv(buf)).await
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
        self.io.async_io(RECV_INTEREST, || receive::recv(&*self.io, buf)).await
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
    /// Returns an error if the system call fails.
    ///
    /// # Cancel safety
    /// This method is cancel safe: if the future is dropped, no datagram is lost.
    pub async fn recv_from(&self, buf: &mut [u8]) -> io::Result<(usize, SocketAddr)> {
        self.io.async_io(RECV_INTEREST, || self.io.recv_from(buf)).await
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
    ///
    /// To receive all datagrams that are available, and then wait for more:
    ///
    /// ```
    /// # wakeful::runtime::Runtime::new().unwrap().block_on(async {
    /// use std::io::ErrorKind;
    /// use wakeful::net::UdpSocket;
    ///
    /// let one = UdpSocket::bind("127.0.0.1:0").await?;
    /// let other = UdpSocket::bind("127.0.0.1:0").await?;
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

    /// Receives a datagram and appends it to `buf`, like [`recv_from`](Self::recv_from).
    ///
    /// The spare capacity of `buf` limits the length of the datagram.
    ///
    /// # Errors
    /// Returns the errors of `recv_from`.
    pub async fn recv_buf_from<B: BufMut>(&self, buf: &mut B) -> io::Result<(usize, SocketAddr)> {
        self.io.async_io(RECV_INTEREST, || addressed(receive::recv_from(&*self.io, buf))).await
    }

    /// Tries to receive like [`recv_buf_from`](Self::recv_buf_from), without waiting.
    ///
    /// # Errors
    /// Returns `WouldBlock` if no datagram is available.
    pub fn try_recv_buf_from<B: BufMut>(&self, buf: &mut B) -> io::Result<(usize, SocketAddr)> {
        self.io.try_io(Interest::READABLE, || addressed(receive::recv_from(&*self.io, buf)))
    }
}

fn addressed(received: io::Result<(usize, SockAddr)>) -> io::Result<(usize, SocketAddr)> {
    let (n, from) = received?;
    Ok((n, sockets::inet_address(&from)?))
}
