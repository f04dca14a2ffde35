//! `AsyncSeekExt` and the future that its methods return.

use std::future::Future;
use std::io::{self, SeekFrom};
use std::marker::PhantomPinned;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use pin_project_lite::pin_project;

use crate::traits::AsyncSeek;

pin_project! {
    /// The future returned by [`AsyncSeekExt::seek`].
    #[derive(Debug)]
    #[must_use = "futures do nothing unless you `.await` or poll them"]
    pub struct Seek<'a, S: ?Sized> {
        stream: &'a mut S,
        // `Some` until the seek has been started.
        target: Option<SeekFrom>,
        #[pin]
        _pin: PhantomPinned,
    }
}

impl<S: AsyncSeek + Unpin + ?Sized> Future for Seek<'_, S> {
    type Output = io::Result<u64>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let me = self.project();
        let mut stream = Pin::new(&mut **me.stream);
        if let Some(target) = *me.target {
            // A seek that an earlier caller started may not have completed.
            ready!(stream.as_mut().poll_complete(cx))?;
            stream.as_mut().start_seek(target)?;
            *me.target = None;
        }
        stream.poll_complete(cx)
    }
}

/// Extension methods for all types that implement [`AsyncSeek`].
///
/// ```
/// # wakeful::runtime::Runtime::new().unwrap().block_on(async {
/// use std::io::{Cursor, SeekFrom};
/// use wakeful::io::{AsyncReadExt, AsyncSeekExt};
///
/// let mut cursor = Cursor::new(b"abcdefg");
/// cursor.seek(SeekFrom::End(-2)).await?;
/// assert_eq!(cursor.read_u8().await?, b'f');
/// assert_eq!(cursor.stream_position().await?, 6);
/// cursor.rewind().await?;
/// assert_eq!(cursor.read_u8().await?, b'a');
/// # std::io::Result::Ok(()) }).unwrap();
/// ```
pub trait AsyncSeekExt: AsyncSeek {
    /// Seeks to `pos`.
    ///
    /// The future resolves to an `io::Result<u64>`: the new position, counted from the start.
    fn seek(&mut self, pos: SeekFrom) -> Seek<'_, Self>
    where
        Self: Unpin,
    {
        Seek { stream: self, target: Some(pos), _pin: PhantomPinned }
    }

    /// Seeks to the start.
    ///
    /// The future resolves to an `io::Result<u64>`, which is zero.
    fn rewind(&mut self) -> Seek<'_, Self>
    where
        Self: Unpin,
    {
        self.seek(SeekFrom::Start(0))
    }

    /// Determines the current position.
    ///
    /// The future resolves to an `io::Result<u64>`: the position, counted from the start.
    fn stream_position(&mut self) -> Seek<'_, Self>
    where
        Self: Unpin,
    {
        self.seek(SeekFrom::Current(0))
    }
}

impl<S: AsyncSeek + ?Sized> AsyncSeekExt for S {}
