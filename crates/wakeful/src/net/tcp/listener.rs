use super::TcpStream;
use crate::io::{Interest, Watched};
use crate::net::addr::{ToSocketAddrs, first_that_works};
use crate::net::socket_type::like_std;
use crate::net::sockets;
use socket2::Type;
use std::io;
use std::net::SocketAddr;
use std::task::{Context, Poll, ready};

/// Accepts TCP connections.
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

like_std!(TcpListener, std::net::TcpListener);

impl TcpListener {
    /// Listens at `addr`; of several addresses, at the first one where that is possible. Port 0 is one
    /// that the operating system chooses, which [`local_addr`](Self::local_addr) tells.
    ///
    /// `SO_REUSEADDR` is set, so that a server can be started again at once. 1024 connections may wait to
    /// be accepted; [`TcpSocket`](crate::net::TcpSocket) has a say in both.
    ///
    /// # Errors
    /// If it is possible at none of them.
    ///
    /// # Panics
    /// Outside of a runtime with I/O.
    pub async fn bind<A: ToSocketAddrs>(addr: A) -> io::Result<TcpListener> {
        first_that_works(addr, |address| {
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
    /// A wait that is dropped loses no connection.
    ///
    /// # Errors
    /// Those of the kernel, which mostly concern a single connection or a lack that may pass: out of
    /// descriptors, say. The listener can go on; whoever calls again at once finds the same lack.
    ///
    /// # Panics
    /// If the connection is to be watched by the calling task's runtime, and that has no I/O.
    ///
    /// A server gives each connection a task of its own, and after an error waits for a moment:
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

    /// As [`accept`](Self::accept), on behalf of the task of `cx`. Of several tasks the last one is called
    /// only.
    ///
    /// # Errors
    /// As `accept`.
    pub fn poll_accept(&self, cx: &mut Context<'_>) -> Poll<io::Result<(TcpStream, SocketAddr)>> {
        let accept = || sockets::accept(&*self.io);
        let (socket, address) = ready!(self.io.poll_read_io(cx, accept))?;
        let stream = TcpStream::accepted(socket.into(), "TcpListener::poll_accept")?;
        Poll::Ready(Ok((stream, sockets::inet_address(&address)?)))
    }

    /// The address it listens at.
    ///
    /// # Errors
    /// If the kernel does not know it.
    pub fn local_addr(&self) -> io::Result<SocketAddr> {
        self.io.local_addr()
    }

    /// How many routers an IPv4 packet may pass (`IP_TTL`).
    ///
    /// # Errors
    /// If the kernel cannot tell.
    pub fn ttl(&self) -> io::Result<u32> {
        self.io.ttl()
    }

    /// Sets [`ttl`](Self::ttl).
    ///
    /// # Errors
    /// If the kernel refuses it.
    pub fn set_ttl(&self, ttl: u32) -> io::Result<()> {
        self.io.set_ttl(ttl)
    }
}
