use super::TcpStream;
use crate::io::{Interest, Watched};
use crate::net::addr::{ToSocketAddrs, first_success};
use crate::net::socket_type::std_conversions;
use crate::net::sockets;
use socket2::Type;
use std::io;
use std::net::SocketAddr;
use std::task::{Context, Poll, ready};

/// A TCP server socket, which accepts connections.
///
/// ```
/// # wakeful::runtime::Runtime::new().unwrap().block_on(async {
/// use wakeful::net::{TcpListener, TcpStream};
///
/// let listener = TcpListener::bind("127.0.0.1:0").await?;
/// let client = TcpStream::connect(listener.local_addr()?).await?;
/// let (_stream, peer) = listener.accept().await?;
/// assert_eq!(peer, client.local_addr()?);
/// # std::io::Result::Ok(()) }).unwrap();
/// ```
pub struct TcpListener {
    pub(super) io: Watched<std::net::TcpListener>,
}

std_conversions!(TcpListener, std::net::TcpListener);

impl TcpListener {
    /// Listens at `addr`.
    ///
    /// If `addr` resolves to several addresses, uses the first that can be bound.
    ///
    /// With port 0 the operating system chooses the port; [`local_addr`](Self::local_addr) returns
    /// it.
    ///
    /// `SO_REUSEADDR` is set, so that a server can restart immediately. Up to 1024 connections may
    /// wait to be accepted. To change either, use [`TcpSocket`](crate::net::TcpSocket).
    ///
    /// # Errors
    /// Returns an error if none of the addresses can be bound.
    ///
    /// # Panics
    /// Panics if there is no current runtime, or its I/O driver is disabled.
    pub async fn bind<A: ToSocketAddrs>(addr: A) -> io::Result<TcpListener> {
        first_success(addr, |address| {
            let socket = sockets::socket_for(address, Type::STREAM)?;
            socket.set_reuse_address(true)?;
            socket.bind(&address.into())?;
            socket.listen(sockets::BACKLOG)?;
            TcpListener::watch(socket.into(), "TcpListener::bind")
        })
        .await
    }

    #[track_caller]
    pub(super) fn watch(listener: std::net::TcpListener, call: &str) -> io::Result<TcpListener> {
        Ok(TcpListener { io: Watched::new_duplex(listener, call)? })
    }

    /// Waits for the next connection.
    ///
    /// This method is cancel safe: if the future is dropped, no connection is lost.
    ///
    /// # Errors
    /// Returns an error if the system call fails. Such an error mostly concerns a single connection
    /// or a temporary shortage, such as too many open files. The listener remains usable, but an
    /// immediate second call finds the same shortage.
    ///
    /// # Panics
    /// Panics if the calling task's runtime has no I/O driver: the connection would be registered
    /// there.
    ///
    /// A server usually gives each connection its own task, and pauses after an error:
    ///
    /// ```
    /// # wakeful::runtime::Runtime::new().unwrap().block_on(async {
    /// use std::time::Duration;
    /// use wakeful::io::AsyncWriteExt;
    /// use wakeful::net::{TcpListener, TcpStream};
    /// # use wakeful::io::AsyncReadExt;
    ///
    /// async fn serve(listener: TcpListener) {
    ///     loop {
    ///         match listener.accept().await {
    ///             Ok((mut stream, _peer)) => {
    ///                 wakeful::spawn(async move { stream.write_all(b"hello").await });
    ///             }
    ///             Err(error) => {
    ///                 eprintln!("cannot accept: {error}");
    ///                 wakeful::time::sleep(Duration::from_millis(50)).await;
    ///             }
    ///         }
    ///     }
    /// }
    ///
    /// let listener = TcpListener::bind("127.0.0.1:0").await?;
    /// let address = listener.local_addr()?;
    /// wakeful::spawn(serve(listener));
    /// let mut client = TcpStream::connect(address).await?;
    /// # let mut text = String::new();
    /// # client.read_to_string(&mut text).await?;
    /// # assert_eq!(text, "hello");
    /// # std::io::Result::Ok(()) }).unwrap();
    /// ```
    pub async fn accept(&self) -> io::Result<(TcpStream, SocketAddr)> {
        let accept = || sockets::accept(&*self.io);
        let (socket, address) = self.io.async_io(Interest::READABLE, accept).await?;
        let stream = TcpStream::accepted(socket.into(), "TcpListener::accept")?;
        Ok((stream, sockets::inet_address(&address)?))
    }

    /// Polls for the next connection, like [`accept`](Self::accept).
    ///
    /// If several tasks call this method, only the last one is woken.
    ///
    /// # Errors
    /// Returns the errors of `accept`.
    pub fn poll_accept(&self, cx: &mut Context<'_>) -> Poll<io::Result<(TcpStream, SocketAddr)>> {
        let accept = || sockets::accept(&*self.io);
        let (socket, address) = ready!(self.io.poll_read_io(cx, accept))?;
        let stream = TcpStream::accepted(socket.into(), "TcpListener::poll_accept")?;
        Poll::Ready(Ok((stream, sockets::inet_address(&address)?)))
    }

    /// Returns the address that the listener is bound to.
    ///
    /// # Errors
    /// Returns an error if the system call fails.
    pub fn local_addr(&self) -> io::Result<SocketAddr> {
        self.io.local_addr()
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
}
