//! Seeking: `AsyncSeekExt` and its future.

use std::future::Future;
use std::io::{self, SeekFrom};
use std::marker::PhantomPinned;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use pin_project_lite::pin_project;

use crate::traits::AsyncSeek;

pin_project! {
    /// The future of [`AsyncSeekExt::seek`].
    #[derive(Debug)]
    #[must_use = "futures do nothing unless you `.await` or poll them"]
    pub struct Seek<'a, S: ?Sized> {
        stream: &'a mut S,
        // Until the seek is under way.
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
            // One that somebody began before us and did not wait for.
            ready!(stream.as_mut().poll_complete(cx))?;
            stream.as_mut().start_seek(target)?;
            *me.target = None;
        }
        stream.poll_complete(cx)
    }
}

/// Methods of every [`AsyncSeek`].
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
    /// Moves to `pos`, and gives the new position counted from the start: `io::Result<u64>`.
    fn seek(&mut self, pos: SeekFrom) -> Seek<'_, Self>
    where
        Self: Unpin,
    {
        Seek { stream: self, target: Some(pos), _pin: PhantomPinned }
    }

    /// Moves to the start.
    fn rewind(&mut self) -> Seek<'_, Self>
    where
        Self: Unpin,
    {
        self.seek(SeekFrom::Start(0))
    }

    /// Gives the position, counted from the start: `io::Result<u64>`.
    fn stream_position(&mut self) -> Seek<'_, Self>
    where
        Self: Unpin,
    {
        self.seek(SeekFrom::Current(0))
    }
}

impl<S: AsyncSeek + ?Sized> AsyncSeekExt for S {}
