use std::fmt;
use std::io::{self, IoSlice};
use std::iter;
use std::ops::Deref;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use wakeful_base::budget;
use wakeful_base::sync::{Arc, Mutex};

use super::pipe::{DeferredWakers, Pipe, Side, poll_locked};
use crate::traits::{AsyncRead, AsyncWrite, ReadBuf};

/// One end of an in-memory connection, created by [`duplex`].
///
/// After one end is dropped, the other end can still read the bytes in transit and then reaches the
/// end of the stream. Its writes fail with [`BrokenPipe`](io::ErrorKind::BrokenPipe), including
/// those that are waiting for room.
///
/// In tests it can replace a socket:
///
/// ```
/// use wakeful::io::{AsyncBufReadExt, AsyncRead, AsyncWrite, AsyncWriteExt};
/// use wakeful::io::{BufReader, DuplexStream, duplex};
///
/// /// Answers each line with its length.
/// async fn serve(stream: impl AsyncRead + AsyncWrite + Unpin) -> std::io::Result<()> {
///     let mut stream = BufReader::new(stream);
///     let mut line = String::new();
///     while stream.read_line(&mut line).await? > 0 {
///         stream.write_all(format!("{}\n", line.trim_end().len()).as_bytes()).await?;
///         line.clear();
///     }
///     Ok(())
/// }
///
/// # wakeful::runtime::Runtime::new().unwrap().block_on(async {
/// let (mut client, server): (DuplexStream, DuplexStream) = duplex(64);
/// let server = wakeful::spawn(serve(server));
/// client.write_all(b"hello\nyou\n").await?;
/// client.shutdown().await?;
/// let mut answers = BufReader::new(client).lines();
/// assert_eq!(answers.next_line().await?.as_deref(), Some("5"));
/// assert_eq!(answers.next_line().await?.as_deref(), Some("3"));
/// server.await??;
/// # std::io::Result::Ok(()) }).unwrap();
/// ```
pub struct DuplexStream {
    incoming: Arc<Mutex<Pipe>>,
    outgoing: Arc<Mutex<Pipe>>,
}

/// Creates two connected in-memory streams.
///
/// Like with a pair of sockets, bytes written to one can be read from the other.
///
/// Each direction holds at most `max_buf_size` unread bytes. Writes wait when it is full.
///
/// # Panics
///
/// Panics if `max_buf_size` is zero.
///
/// # Examples
///
/// ```
/// # wakeful::runtime::Runtime::new().unwrap().block_on(async {
/// use wakeful::io::{AsyncReadExt, AsyncWriteExt, duplex};
///
/// let (mut client, mut server) = duplex(64);
/// client.write_all(b"ping").await?;
///
/// let mut buf = [0; 4];
/// server.read_exact(&mut buf).await?;
/// assert_eq!(&buf, b"ping");
/// # std::io::Result::Ok(()) }).unwrap();
/// ```
#[track_caller]
pub fn duplex(max_buf_size: usize) -> (DuplexStream, DuplexStream) {
    let one = Arc::new(Mutex::new(Pipe::new(max_buf_size)));
    let two = Arc::new(Mutex::new(Pipe::new(max_buf_size)));
    let near = DuplexStream { incoming: one.clone(), outgoing: two.clone() };
    let far = DuplexStream { incoming: two, outgoing: one };
    (near, far)
}

impl DuplexStream {
    fn poll_write_from<'b>(
        &self,
        cx: &mut Context<'_>,
        bufs: impl Iterator<Item = &'b [u8]> + Clone,
    ) -> Poll<io::Result<usize>> {
        let unit = ready!(budget::poll_proceed(cx));
        let result = ready!(poll_locked(&self.outgoing, Side::Writer, cx, |pipe, deferred| {
            pipe.write(bufs.clone(), deferred)
        }));
        unit.made_progress();
        Poll::Ready(result)
    }

    fn close_outgoing(&self) {
        let mut deferred = DeferredWakers::default();
        self.outgoing.lock().close_by_writer(&mut deferred);
    }
}

impl AsyncRead for DuplexStream {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let unit = ready!(budget::poll_proceed(cx));
        ready!(poll_locked(&self.incoming, Side::Reader, cx, |pipe, deferred| {
            pipe.read(buf, deferred)
        }));
        unit.made_progress();
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for DuplexStream {
    fn poll_write(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.poll_write_from(cx, iter::once(buf))
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        self.poll_write_from(cx, bufs.iter().map(Deref::deref))
    }

    fn is_write_vectored(&self) -> bool {
        true
    }

    fn poll_flush(self: Pin<&mut Self>, _cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.close_outgoing();
        Poll::Ready(Ok(()))
    }
}

impl Drop for DuplexStream {
    fn drop(&mut self) {
        // Both pipes are closed before a task is woken, so that the other end never observes a
        // half-closed connection. Dropping the two values wakes the tasks.
        let (mut reader_wake, mut writer_wake) =
            (DeferredWakers::default(), DeferredWakers::default());
        self.outgoing.lock().close_by_writer(&mut reader_wake);
        self.incoming.lock().close_by_reader(&mut writer_wake);
    }
}

impl fmt::Debug for DuplexStream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The locks are not held while formatting: the writer behind `f` is user code and may use
        // this stream.
        let incoming = self.incoming.lock().state();
        let outgoing = self.outgoing.lock().state();
        f.debug_struct("DuplexStream")
            .field("incoming", &incoming)
            .field("outgoing", &outgoing)
            .finish()
    }
}
