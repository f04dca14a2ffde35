//! Reading the next datagram without removing it from the queue.

use super::{RECV_INTEREST, UdpSocket, addressed};
use crate::io::{Interest, ReadBuf};
use crate::net::receive;
use socket2::SockRef;
use std::io;
use std::net::SocketAddr;
use std::task::{Context, Poll};

impl UdpSocket {
    /// Copies the next datagram, like [`recv`](Self::recv), but leaves it in the queue.
    ///
    /// # Errors
    /// Returns the errors of `recv`.
    pub async fn peek(&self, buf: &mut [u8]) -> io::Result<usize> {
        self.io.async_io(RECV_INTEREST, || self.io.peek(buf)).await
    }

    /// Polls like [`poll_recv`](Self::poll_recv), but leaves the datagram in the queue.
    ///
    /// # Errors
    /// Returns the errors of `recv`.
    pub fn poll_peek(&self, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        self.io.poll_read_io(cx, || receive::peek(&*self.io, buf)).map_ok(|_| ())
    }

    /// Copies a datagram like [`try_recv`](Self::try_recv), but leaves it in the queue.
    ///
    /// # Errors
    /// Returns `WouldBlock` if no datagram is available.
    pub fn try_peek(&self, buf: &mut [u8]) -> io::Result<usize> {
        self.io.try_io(Interest::READABLE, || self.io.peek(buf))
    }

    /// Copies the next datagram, like [`recv_from`](Self::recv_from), but leaves it in the queue.
    ///
    /// # Errors
    /// Returns the errors of `recv_from`.
    pub async fn peek_from(&self, buf: &mut [u8]) -> io::Result<(usize, SocketAddr)> {
        self.io.async_io(RECV_INTEREST, || self.io.peek_from(buf)).await
    }

    /// Polls like [`poll_recv_from`](Self::poll_recv_from), but leaves the datagram in the queue.
    ///
    /// # Errors
    /// Returns the errors of `recv_from`.
    pub fn poll_peek_from(
        &self,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<SocketAddr>> {
        let peeked = self.io.poll_read_io(cx, || addressed(receive::peek_from(&*self.io, buf)));
        peeked.map_ok(|(_, from)| from)
    }

    /// Copies a datagram like [`try_recv_from`](Self::try_recv_from), but leaves it in the queue.
    ///
    /// # Errors
    /// Returns `WouldBlock` if no datagram is available.
    pub fn try_peek_from(&self, buf: &mut [u8]) -> io::Result<(usize, SocketAddr)> {
        self.io.try_io(Interest::READABLE, || self.io.peek_from(buf))
    }

    /// Waits for a datagram, and returns its sender without removing the datagram from the queue.
    ///
    /// # Errors
    /// Returns the errors of `recv_from`.
    ///
    /// ```
    /// # wakeful::runtime::Runtime::new().unwrap().block_on(async {
    /// use wakeful::net::UdpSocket;
    ///
    /// let one = UdpSocket::bind("127.0.0.1:0").await?;
    /// let other = UdpSocket::bind("127.0.0.1:0").await?;
    /// other.send_to(b"ping", one.local_addr()?).await?;
    /// assert_eq!(one.peek_sender().await?, other.local_addr()?);
    /// assert_eq!(one.recv(&mut [0; 8]).await?, 4); // it is still there
    /// # std::io::Result::Ok(()) }).unwrap();
    /// ```
    pub async fn peek_sender(&self) -> io::Result<SocketAddr> {
        self.io.async_io(RECV_INTEREST, || self.sender()).await
    }

    /// Polls for a datagram, like [`peek_sender`](Self::peek_sender).
    ///
    /// If several tasks poll for reading, only the last one is woken.
    ///
    /// # Errors
    /// Returns the errors of `recv_from`.
    pub fn poll_peek_sender(&self, cx: &mut Context<'_>) -> Poll<io::Result<SocketAddr>> {
        self.io.poll_read_io(cx, || self.sender())
    }

    /// Tries to return the sender, like [`peek_sender`](Self::peek_sender) but without waiting.
    ///
    /// # Errors
    /// Returns `WouldBlock` if no datagram is available.
    pub fn try_peek_sender(&self) -> io::Result<SocketAddr> {
        self.io.try_io(Interest::READABLE, || self.sender())
    }

    fn sender(&self) -> io::Result<SocketAddr> {
        let sender = SockRef::from(&*self.io).peek_sender()?.as_socket();
        sender.ok_or_else(|| io::Error::other("sender not available"))
    }
}
