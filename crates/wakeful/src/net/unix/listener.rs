use super::{SocketAddr, UnixStream};
use crate::io::{Interest, Watched};
use crate::net::socket_type::std_conversions;
use crate::net::sockets;
use socket2::{Domain, Type};
use std::io;
use std::os::unix::net;
use std::path::Path;
use std::task::{Context, Poll, ready};

/// A Unix server socket, which accepts connections from processes on this machine.
///
/// Dropping it does not remove the socket's file. The file must be removed before the path can be
/// bound again.
///
/// ```
/// # wakeful::runtime::Runtime::new().unwrap().block_on(async {
/// use wakeful::net::{UnixListener, UnixStream};
///
/// let path = std::env::temp_dir().join(format!("wakeful-listener-{}", std::process::id()));
/// let listener = UnixListener::bind(&path)?;
/// let _client = UnixStream::connect(&path).await?;
/// let (_server, _) = listener.accept().await?;
/// std::fs::remove_file(&path)?;
/// # std::io::Result::Ok(()) }).unwrap();
/// ```
pub struct UnixListener {
    io: Watched<net::UnixListener>,
}

std_conversions!(UnixListener, net::UnixListener);

impl UnixListener {
    /// Listens at `path`. On Linux, a path that starts with a zero byte is an abstract name.
    ///
    /// # Errors
    /// Returns an error if the address cannot be bound; `AddrInUse` if the path exists.
    ///
    /// # Panics
    /// Panics if there is no current runtime, or its I/O driver is disabled.
    ///
    /// ```
    /// # wakeful::runtime::Runtime::new().unwrap().block_on(async {
    /// use wakeful::net::{UnixListener, UnixStream};
    ///
    /// # if cfg!(target_os = "linux") {
    /// let name = format!("\0wakeful-doc-{}", std::process::id()); // no file, so nothing to remove
    /// let listener = UnixListener::bind(&name)?;
    /// let _client = UnixStream::connect(&name).await?;
    /// listener.accept().await?;
    /// # }
    /// # std::io::Result::Ok(()) }).unwrap();
    /// ```
    #[track_caller]
    pub fn bind<P>(path: P) -> io::Result<UnixListener>
    where
        P: AsRef<Path>,
    {
        UnixListener::bind_addr(&SocketAddr::of_path(path.as_ref())?)
    }

    /// Listens at an address.
    ///
    /// # Errors
    /// Returns an error if the address cannot be bound.
    ///
    /// # Panics
    /// Panics if there is no current runtime, or its I/O driver is disabled.
    #[track_caller]
    pub fn bind_addr(socket_addr: &SocketAddr) -> io::Result<UnixListener> {
        let socket = sockets::socket(Domain::UNIX, Type::STREAM, None)?;
        socket.bind(&socket_addr.to_kernel()?)?;
        socket.listen(sockets::BACKLOG)?;
        UnixListener::watch(socket.into(), "UnixListener::bind")
    }

    #[track_caller]
    pub(super) fn watch(listener: net::UnixListener, call: &str) -> io::Result<UnixListener> {
        Ok(UnixListener { io: Watched::new_duplex(listener, call)? })
    }

    /// Waits for the next connection.
    ///
    /// This method is cancel safe: if the future is dropped, no connection is lost.
    ///
    /// # Errors
    /// Returns an error if the system call fails. Such an error is mostly a temporary shortage,
    /// such as too many open files. The listener remains usable, but an immediate second call finds
    /// the same shortage.
    pub async fn accept(&self) -> io::Result<(UnixStream, SocketAddr)> {
        let accept = || sockets::accept(&*self.io);
        let (socket, address) = self.io.async_io(Interest::READABLE, accept).await?;
        let stream = UnixStream::accepted(socket.into(), "UnixListener::accept")?;
        Ok((stream, SocketAddr::from_kernel(&address)?))
    }

    /// Polls for the next connection, like [`accept`](Self::accept).
    ///
    /// If several tasks call this method, only the last one is woken.
    ///
    /// # Errors
    /// Returns the errors of `accept`.
    pub fn poll_accept(&self, cx: &mut Context<'_>) -> Poll<io::Result<(UnixStream, SocketAddr)>> {
        let accept = || sockets::accept(&*self.io);
        let (socket, address) = ready!(self.io.poll_read_io(cx, accept))?;
        let stream = UnixStream::accepted(socket.into(), "UnixListener::poll_accept")?;
        Poll::Ready(Ok((stream, SocketAddr::from_kernel(&address)?)))
    }

    /// Returns the address that the listener is bound to.
    ///
    /// # Errors
    /// Returns an error if the system call fails.
    pub fn local_addr(&self) -> io::Result<SocketAddr> {
        self.io.local_addr().map(SocketAddr::from)
    }

    /// Returns the pending error of the socket (`SO_ERROR`), and clears it.
    ///
    /// # Errors
    /// Returns an error if the system call fails.
    pub fn take_error(&self) -> io::Result<Option<io::Error>> {
        self.io.take_error()
    }
}
