//! What goes with Unix sockets, and [pipes](pipe). The sockets themselves are in [`net`](super).

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
#[expect(non_camel_case_types, reason = "the operating system's name")]
pub type uid_t = u32;

/// The id of a group.
#[expect(non_camel_case_types, reason = "the operating system's name")]
pub type gid_t = u32;

/// The id of a process.
#[expect(non_camel_case_types, reason = "the operating system's name")]
pub type pid_t = i32;
