//! The halves of TCP streams. The other TCP types are in [`net`](super).
//!
//! ```
//! # wakeful::runtime::Runtime::new().unwrap().block_on(async {
//! use wakeful::io::{AsyncReadExt, AsyncWriteExt};
//! use wakeful::net::{TcpListener, TcpStream, tcp};
//!
//! let listener = TcpListener::bind("127.0.0.1:0").await?;
//! let client = TcpStream::connect(listener.local_addr()?).await?;
//! let (mut server, _) = listener.accept().await?;
//!
//! let (mut reader, mut writer): (tcp::OwnedReadHalf, tcp::OwnedWriteHalf) = client.into_split();
//! let reading = wakeful::spawn(async move {
//!     let mut text = String::new();
//!     reader.read_to_string(&mut text).await.map(|_| text)
//! });
//! writer.write_all(b"?").await?;
//! assert_eq!(server.read_u8().await?, b'?');
//! server.write_all(b"an answer").await?;
//! drop(server);
//! assert_eq!(reading.await??, "an answer");
//! # std::io::Result::Ok(()) }).unwrap();
//! ```

pub(super) mod listener;
pub(super) mod socket;
mod split;
pub(super) mod stream;

pub use split::{OwnedReadHalf, OwnedWriteHalf, ReadHalf, ReuniteError, WriteHalf};

use listener::TcpListener;
use stream::TcpStream;
