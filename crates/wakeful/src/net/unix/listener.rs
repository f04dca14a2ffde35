use super::{SocketAddr, UnixStream};
use crate::io::{Interest, Watched};
use crate::net::socket_type::like_std;
use crate::net::sockets;
use socket2::{Domain, Type};
use std::io;
use std::os::unix::net;
use std::path::Path;
use std::task::{Context, Poll, ready};

/// Accepts connections of processes on this machine.
///
/// Its drop leaves the file of the socket where it is; whoever binds to the same path again has to remove
/// it first.
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

like_std!(UnixListener, net::UnixListener);

impl UnixListener {
    /// Listens at `path`. On Linux one that begins with a zero byte is an abstract name.
    ///
    /// # Errors
    /// If that is not possible; with `AddrInUse` if the path exists.
    ///
    /// # Panics
    /// Outside of a runtime with I/O.
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
    /// If that is not possible.
    ///
    /// # Panics
    /// Outside of a runtime with I/O.
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
    /// A wait that is dropped loses no connection.
    ///
    /// # Errors
    /// Those of the kernel, which mostly concern a lack that may pass: out of descriptors, say. The
    /// listener can go on; whoever calls again at once finds the same lack.
    pub async fn accept(&self) -> io::Result<(UnixStream, SocketAddr)> {
        let accept = || sockets::accept(&*self.io);
        let (socket, address) = self.io.async_io(Interest::READABLE, accept).await?;
        let stream = UnixStream::accepted(socket.into(), "UnixListener::accept")?;
        Ok((stream, SocketAddr::from_kernel(&address)?))
    }

    /// As [`accept`](Self::accept), on behalf of the task of `cx`. Of several tasks the last one is called
    /// only.
    ///
    /// # Errors
    /// As `accept`.
    pub fn poll_accept(&self, cx: &mut Context<'_>) -> Poll<io::Result<(UnixStream, SocketAddr)>> {
        let accept = || sockets::accept(&*self.io);
        let (socket, address) = ready!(self.io.poll_read_io(cx, accept))?;
        let stream = UnixStream::accepted(socket.into(), "UnixListener::poll_accept")?;
        Poll::Ready(Ok((stream, SocketAddr::from_kernel(&address)?)))
    }

    /// The address it listens at.
    ///
    /// # Errors
    /// If the kernel does not know it.
    pub fn local_addr(&self) -> io::Result<SocketAddr> {
        self.io.local_addr().map(SocketAddr::from)
    }

    /// The error that is pending on the socket, which is none afterwards.
    ///
    /// # Errors
    /// If the kernel cannot tell.
    pub fn take_error(&self) -> io::Result<Option<io::Error>> {
        self.io.take_error()
    }
}
