//! Calls to readers and writers of which we only know that they compile.
//!
//! `AsyncRead` and `AsyncWrite` are safe traits: an implementation may return any number, or put
//! another buffer in the place of the one it was given. What comes back from here has been checked,
//! so that the rest of the crate may rely on it, in `unsafe` code too; a broken rule becomes a
//! panic that names it.
//!
//! Readers are always given a fresh [`ReadBuf`] over the room that is left. What earlier reads
//! brought is not in it, so a reader that shrinks the filled part can only take back what it has
//! just put there.

use std::io;
use std::mem::MaybeUninit;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use crate::traits::{AsyncRead, AsyncWrite, ReadBuf};

/// Reads into `room`, and returns how many bytes.
#[inline]
pub(crate) fn poll_read<R: AsyncRead + ?Sized>(
    reader: Pin<&mut R>,
    cx: &mut Context<'_>,
    room: &mut [u8],
) -> Poll<io::Result<usize>> {
    let given = (room.as_ptr(), room.len());
    let mut buf = ReadBuf::new(room);
    ready!(reader.poll_read(cx, &mut buf))?;
    assert_same_buffer(&buf, given);
    Poll::Ready(Ok(buf.filled().len()))
}

/// Reads into `room`, of which the first `initialized` bytes are initialized, and returns how many
/// bytes.
///
/// Afterwards `initialized` says how many are, whatever the result is. That is never fewer than
/// were read.
///
/// # Safety
///
/// The first `initialized` bytes of `room` must be initialized.
#[inline]
pub(crate) unsafe fn poll_read_uninit<R: AsyncRead + ?Sized>(
    reader: Pin<&mut R>,
    cx: &mut Context<'_>,
    room: &mut [MaybeUninit<u8>],
    initialized: &mut usize,
) -> Poll<io::Result<usize>> {
    let given = (room.as_ptr().cast(), room.len());
    let mut buf = ReadBuf::uninit(room);
    // SAFETY: as the caller promises.
    unsafe { buf.assume_init(*initialized) };
    let result = reader.poll_read(cx, &mut buf);
    assert_same_buffer(&buf, given);
    *initialized = buf.initialized().len();
    ready!(result)?;
    Poll::Ready(Ok(buf.filled().len()))
}

/// Address and length together: an empty buffer may lie where another one begins.
#[inline]
fn assert_same_buffer(buf: &ReadBuf<'_>, given: (*const u8, usize)) {
    assert!(
        (buf.filled().as_ptr(), buf.capacity()) == given,
        "AsyncRead::poll_read put another ReadBuf in the place of the one it was given; \
         a reader may only fill the one it gets"
    );
}

/// Writes from `buf`, and returns how many bytes: at most as many as there are.
#[inline]
pub(crate) fn poll_write<W: AsyncWrite + ?Sized>(
    writer: Pin<&mut W>,
    cx: &mut Context<'_>,
    buf: &[u8],
) -> Poll<io::Result<usize>> {
    let n = ready!(writer.poll_write(cx, buf))?;
    assert_offered(n, buf.len());
    Poll::Ready(Ok(n))
}

/// Panics if a writer says that it took `n` bytes of `offered`, and that cannot be.
#[inline]
pub(crate) fn assert_offered(n: usize, offered: usize) {
    // Apart, so that who calls this need not keep the numbers in memory for the sake of the text.
    #[cold]
    fn fail(n: usize, offered: usize) -> ! {
        panic!(
            "AsyncWrite::poll_write returned {n} for a buffer of {offered} bytes; \
             a writer cannot take more than it was offered"
        )
    }

    if n > offered {
        fail(n, offered);
    }
}

/// Panics if a reader that was given a buffer with `before` filled bytes left it with fewer.
#[inline]
pub(crate) fn assert_not_shrunk(buf: &ReadBuf<'_>, before: usize) {
    let after = buf.filled().len();
    assert!(
        after >= before,
        "AsyncRead::poll_read shrank the filled part of its ReadBuf from {before} to {after} \
         bytes; a reader may only add to it"
    );
}

/// Whether to try again at once.
#[inline]
pub(crate) fn is_interrupted<T>(result: &io::Result<T>) -> bool {
    matches!(result, Err(e) if e.kind() == io::ErrorKind::Interrupted)
}
