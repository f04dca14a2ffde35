//! Sockets and pipes.
//!
//! | to | use |
//! |---|---|
//! | stream over TCP | [`TcpListener`], [`TcpStream`]; [`TcpSocket`] to set options first |
//! | send datagrams over UDP | [`UdpSocket`] |
//! | talk to local processes | [`UnixListener`], [`UnixStream`], [`UnixDatagram`]; [`unix::pipe`] |
//! | resolve host names | [`lookup_host`] |
//!
//! A socket belongs to the runtime in which it is created, and the I/O driver of that runtime must
//! be enabled. Tasks of other runtimes may use the socket too. Once its runtime shuts down, pending
//! and later waits return an error.
//!
//! Each kind of socket has its own file or folder. `socket_type` and `halves` hold the methods that
//! several kinds share, `sockets` creates the descriptors, and `addr` resolves names.
//!
//! ```
//! # wakeful::runtime::Runtime::new().unwrap().block_on(async {
//! use wakeful::io::{AsyncReadExt, AsyncWriteExt};
//! use wakeful::net::{TcpListener, TcpStream};
//!
//! let listener = TcpListener::bind("127.0.0.1:0").await?;
//! let address = listener.local_addr()?;
//! let server = wakeful::spawn(async move {
//!     let (mut stream, _peer) = listener.accept().await?;
//!     let (mut reader, mut writer) = stream.split();
//!     wakeful::io::copy(&mut reader, &mut writer).await
//! });
//!
//! let mut client = TcpStream::connect(address).await?;
//! client.write_all(b"echo").await?;
//! client.shutdown().await?;
//! let mut answer = String::new();
//! client.read_to_string(&mut answer).await?;
//! assert_eq!(answer, "echo");
//! assert_eq!(server.await.unwrap()?, 4);
//! # std::io::Result::Ok(()) }).unwrap();
//! ```

mod addr;
mod halves;
mod lookup_host;
mod receive;
mod socket_type;
mod sockets;
pub mod tcp;
mod udp;
pub mod unix;

pub use addr::ToSocketAddrs;
pub use lookup_host::lookup_host;
pub use tcp::listener::TcpListener;
pub use tcp::socket::TcpSocket;
pub use tcp::stream::TcpStream;
pub use udp::UdpSocket;
pub use unix::datagram::UnixDatagram;
pub use unix::listener::UnixListener;
pub use unix::socket::UnixSocket;
pub use unix::stream::UnixStream;
