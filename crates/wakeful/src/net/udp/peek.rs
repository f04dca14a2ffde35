//! Looking at the next datagram without taking it.

use super::{TO_RECEIVE, UdpSocket, addressed};
use crate::io::{Interest, ReadBuf};
use crate::net::receive;
use socket2::SockRef;
use std::io;
use std::net::SocketAddr;
use std::task::{Context, Poll};

impl UdpSocket {
    /// As [`recv`](Self::recv), but leaves the datagram for the next who receives.
    ///
    /// # Errors
    /// As `recv`.
    pub async fn peek(&self, buf: &mut [u8]) -> io::Result<usize> {
        self.io.async_io(TO_RECEIVE, || self.io.peek(buf)).await
    }

    /// As [`poll_recv`](Self::poll_recv), but leaves the datagram.
    ///
    /// # Errors
    /// As `recv`.
    pub fn poll_peek(&self, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        self.io.poll_read_io(cx, || receive::peek(&*self.io, buf)).map_ok(|_| ())
    }

    /// As [`try_recv`](Self::try_recv), but leaves the datagram.
    ///
    /// # Errors
    /// `WouldBlock` if there is nothing yet.
    pub fn try_peek(&self, buf: &mut [u8]) -> io::Result<usize> {
        self.io.try_io(Interest::READABLE, || self.io.peek(buf))
    }

    /// As [`recv_from`](Self::recv_from), but leaves the datagram for the next who receives.
    ///
    /// # Errors
    /// As `recv_from`.
    pub async fn peek_from(&self, buf: &mut [u8]) -> io::Result<(usize, SocketAddr)> {
        self.io.async_io(TO_RECEIVE, || self.io.peek_from(buf)).await
    }

    /// As [`poll_recv_from`](Self::poll_recv_from), but leaves the datagram.
    ///
    /// # Errors
    /// As `recv_from`.
    pub fn poll_peek_from(
        &self,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<SocketAddr>> {
        let peeked = self.io.poll_read_io(cx, || addressed(receive::peek_from(&*self.io, buf)));
        peeked.map_ok(|(_, from)| from)
    }

    /// As [`try_recv_from`](Self::try_recv_from), but leaves the datagram.
    ///
    /// # Errors
    /// `WouldBlock` if there is nothing yet.
    pub fn try_peek_from(&self, buf: &mut [u8]) -> io::Result<(usize, SocketAddr)> {
        self.io.try_io(Interest::READABLE, || self.io.peek_from(buf))
    }

    /// Waits for a datagram, and tells where it comes from without taking it.
    ///
    /// # Errors
    /// As `recv_from`.
    ///
    /// ```
    /// # wakeful::runtime::Runtime::new().unwrap().block_on(async {
    /// use wakeful::net::UdpSocket;
    ///
    /// let (one, other) = (UdpSocket::bind("127.0.0.1:0").await?, UdpSocket::bind("127.0.0.1:0").await?);
    /// other.send_to(b"ping", one.local_addr()?).await?;
    /// assert_eq!(one.peek_sender().await?, other.local_addr()?);
    /// assert_eq!(one.recv(&mut [0; 8]).await?, 4); // it is still there
    /// # std::io::Result::Ok(()) }).unwrap();
    /// ```
    pub async fn peek_sender(&self) -> io::Result<SocketAddr> {
        self.io.async_io(TO_RECEIVE, || self.sender()).await
    }

    /// As [`peek_sender`](Self::peek_sender), on behalf of the task of `cx`. Of several tasks the last one
    /// is called only.
    ///
    /// # Errors
    /// As `recv_from`.
    pub fn poll_peek_sender(&self, cx: &mut Context<'_>) -> Poll<io::Result<SocketAddr>> {
        self.io.poll_read_io(cx, || self.sender())
    }

    /// As [`peek_sender`](Self::peek_sender), without waiting.
    ///
    /// # Errors
    /// `WouldBlock` if there is nothing yet.
    pub fn try_peek_sender(&self) -> io::Result<SocketAddr> {
        self.io.try_io(Interest::READABLE, || self.sender())
    }

    fn sender(&self) -> io::Result<SocketAddr> {
        let sender = SockRef::from(&*self.io).peek_sender()?.as_socket();
        sender.ok_or_else(|| io::Error::other("sender not available"))
    }
}
