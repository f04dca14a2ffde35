//! Halves of TCP streams; the other types are in [`net`](super) itself.

pub(super) mod listener;
pub(super) mod socket;
mod split;
pub(super) mod stream;

pub use split::{OwnedReadHalf, OwnedWriteHalf, ReadHalf, ReuniteError, WriteHalf};

use listener::TcpListener;
use stream::TcpStream;
