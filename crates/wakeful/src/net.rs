//! Sockets and pipes.
//!
//! | to | there is |
//! |---|---|
//! | stream over TCP | [`TcpListener`], [`TcpStream`]; [`TcpSocket`] to set options first |
//! | send datagrams over UDP | [`UdpSocket`] |
//! | talk to processes of this machine | [`UnixListener`], [`UnixStream`], [`UnixDatagram`]; [`unix::pipe`] |
//! | look names up | [`lookup_host`] |
//!
//! All of them belong to the runtime they are made in, whose I/O must be enabled; its end lets every
//! wait on them fail. They may be used from other runtimes' tasks all the same.
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
