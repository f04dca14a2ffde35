//! Types that go with Unix sockets, and [pipes](pipe).
//!
//! The sockets themselves are in [`net`](super).
//!
//! ```
//! # wakeful::runtime::Runtime::new().unwrap().block_on(async {
//! use wakeful::net::{UnixListener, UnixStream, unix::SocketAddr};
//!
//! # let path = std::env::temp_dir().join(format!("wakeful-doc-unix-{}", std::process::id()));
//! let listener = UnixListener::bind(&path)?;
//! let client = UnixStream::connect(&path).await?;
//! let (server, peer): (UnixStream, SocketAddr) = listener.accept().await?;
//! assert!(peer.is_unnamed()); // as most clients are
//! assert_eq!(server.peer_cred()?.uid(), client.peer_cred()?.uid());
//! # std::fs::remove_file(path)?;
//! # std::io::Result::Ok(()) }).unwrap();
//! ```

mod credentials;
pub(super) mod datagram;
pub(super) mod listener;
pub mod pipe;
pub(super) mod socket;
mod socket_addr;
mod split;
pub(super) mod stream;

pub use credentials::UCred;
pub use socket_addr::SocketAddr;
pub use split::{OwnedReadHalf, OwnedWriteHalf, ReadHalf, ReuniteError, WriteHalf};

use datagram::UnixDatagram;
use listener::UnixListener;
use stream::UnixStream;

/// The id of a user.
///
/// Returned by [`UCred::uid`].
#[expect(non_camel_case_types, reason = "the operating system's name")]
pub type uid_t = u32;

/// The id of a group.
///
/// Returned by [`UCred::gid`].
#[expect(non_camel_case_types, reason = "the operating system's name")]
pub type gid_t = u32;

/// The id of a process.
///
/// Returned by [`UCred::pid`].
#[expect(non_camel_case_types, reason = "the operating system's name")]
pub type pid_t = i32;
