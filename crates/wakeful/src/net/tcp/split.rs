//! The halves of TCP streams.

use super::TcpStream;
use crate::net::halves::halves;
use std::future::poll_fn;
use std::net::SocketAddr;

halves!(
    TcpStream,
    SocketAddr,
    "# let listener = wakeful::net::TcpListener::bind(\"127.0.0.1:0\").await?;\n\
     # let near = wakeful::net::TcpStream::connect(listener.local_addr()?).await?;\n\
     # let far = listener.accept().await?.0;"
);

macro_rules! peek_methods {
    ([$half:ty], $field:tt) => {
        impl $half {
            /// Polls for data without consuming it, like [`TcpStream::poll_peek`].
            ///
            /// # Errors
            /// Returns an error if the system call fails, or the runtime has shut down.
            pub fn poll_peek(
                &mut self,
                cx: &mut Context<'_>,
                buf: &mut ReadBuf<'_>,
            ) -> Poll<io::Result<usize>> {
                self.$field.poll_peek(cx, buf)
            }

            /// Waits for data and copies it without consuming it, like [`TcpStream::peek`].
            ///
            /// # Errors
            /// Returns an error if the system call fails, or the runtime has shut down.
            pub async fn peek(&mut self, buf: &mut [u8]) -> io::Result<usize> {
                let mut buf = ReadBuf::new(buf);
                poll_fn(|cx| self.poll_peek(cx, &mut buf)).await
            }
        }
    };
}

peek_methods!([ReadHalf<'_>], 0);
peek_methods!([OwnedReadHalf], stream);
