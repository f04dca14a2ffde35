//! Sockets that can be awaited.
//!
//! 可以 await 的套接字。

use std::future::poll_fn;
use std::io::{self, ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream, ToSocketAddrs};
use std::os::fd::AsFd;
use std::sync::Arc;
use std::task::Poll;

use super::reactor::{Direction, Key, Reactor};

/// A socket of the standard library that does not block, and its place in the reactor.
pub struct Watched<S: AsFd> {
    socket: S,
    key: Key,
    reactor: Arc<Reactor>,
}

impl<S: AsFd> Watched<S> {
    pub(super) fn new(socket: S, reactor: &Arc<Reactor>) -> io::Result<Watched<S>> {
        let key = reactor.add(socket.as_fd())?;
        Ok(Watched { socket, key, reactor: reactor.clone() })
    }

    /// Tries, and if it cannot be done yet, has the task woken when it is worth another try.
    ///
    /// All there is to asynchronous I/O is in these lines. The system call comes first: often there
    /// is something to read already, and then epoll need not be asked.
    pub(super) async fn when<T>(
        &self,
        direction: Direction,
        mut attempt: impl FnMut(&S) -> io::Result<T>,
    ) -> io::Result<T> {
        poll_fn(|cx| {
            loop {
                match attempt(&self.socket) {
                    Err(error) if error.kind() == ErrorKind::WouldBlock => {
                        let fd = self.socket.as_fd();
                        self.reactor.wake_when(fd, self.key, direction, cx.waker())?;
                        return Poll::Pending;
                    }
                    Err(error) if error.kind() == ErrorKind::Interrupted => {}
                    result => return Poll::Ready(result),
                }
            }
        })
        .await
    }
}

/// Before the socket is closed: fields are dropped after this.
impl<S: AsFd> Drop for Watched<S> {
    fn drop(&mut self) {
        self.reactor.remove(self.socket.as_fd(), self.key);
    }
}

impl Watched<TcpListener> {
    /// Listens on `address`.
    pub fn bind(address: impl ToSocketAddrs, reactor: &Arc<Reactor>) -> io::Result<Self> {
        let socket = TcpListener::bind(address)?;
        socket.set_nonblocking(true)?;
        Watched::new(socket, reactor)
    }

    /// Where it listens.
    pub fn address(&self) -> io::Result<SocketAddr> {
        self.socket.local_addr()
    }

    /// Waits for a connection.
    pub async fn accept(&self) -> io::Result<Watched<TcpStream>> {
        let (stream, _) = self.when(Direction::Read, TcpListener::accept).await?;
        stream.set_nonblocking(true)?;
        Watched::new(stream, &self.reactor)
    }
}

impl Watched<TcpStream> {
    /// Connects, and blocks meanwhile: on the loopback device that is over at once.
    pub fn connect(address: SocketAddr, reactor: &Arc<Reactor>) -> io::Result<Self> {
        let stream = TcpStream::connect(address)?;
        stream.set_nonblocking(true)?;
        Watched::new(stream, reactor)
    }

    /// Waits until there is something to read. 0: the other side will send no more.
    pub async fn read(&self, buffer: &mut [u8]) -> io::Result<usize> {
        self.when(Direction::Read, |mut socket| socket.read(buffer)).await
    }

    /// Writes all of it, in as many pieces as the kernel wants to have it.
    pub async fn write_all(&self, mut bytes: &[u8]) -> io::Result<()> {
        while !bytes.is_empty() {
            let count = self.when(Direction::Write, |mut socket| socket.write(bytes)).await?;
            if count == 0 {
                return Err(ErrorKind::WriteZero.into());
            }
            bytes = &bytes[count..];
        }
        Ok(())
    }
}
