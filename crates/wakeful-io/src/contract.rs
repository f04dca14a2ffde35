//! Checked calls to user-implemented readers and writers.
//!
//! `AsyncRead` and `AsyncWrite` are safe traits: an implementation may return any number, or
//! replace the given buffer with another one. The functions here check the results, so that the
//! rest of the crate can rely on them, in `unsafe` code too. A broken rule becomes a panic that
//! names it.
//!
//! Each read gets a fresh [`ReadBuf`] over the remaining room. Bytes of earlier reads are not in
//! it, so a reader that shrinks the filled part can only revoke what it has just written.

use std::io;
use std::mem::MaybeUninit;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use crate::traits::{AsyncRead, AsyncWrite, ReadBuf};

/// Reads into `room`, and returns how many bytes were read.
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

/// Reads into `room`, whose first `initialized` bytes are initialized, and returns how many bytes
/// were read.
///
/// Updates `initialized` to the number of bytes initialized now, for every result, errors included.
/// This is never less than the number of bytes read.
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
    // SAFETY: the caller guarantees that the first `initialized` bytes of `room` are initialized.
    unsafe { buf.assume_init(*initialized) };
    let result = reader.poll_read(cx, &mut buf);
    assert_same_buffer(&buf, given);
    *initialized = buf.initialized().len();
    ready!(result)?;
    Poll::Ready(Ok(buf.filled().len()))
}

/// Panics if `buf` is not over the memory that the reader was `given`. Compares address and length,
/// since an empty buffer may have the address of another one.
#[inline]
fn assert_same_buffer(buf: &ReadBuf<'_>, given: (*const u8, usize)) {
    assert!(
        (buf.filled().as_ptr(), buf.capacity()) == given,
        "AsyncRead::poll_read replaced the ReadBuf it was given; \
         a reader may only fill that buffer"
    );
}

/// Writes from `buf`, and returns how many bytes were written: at most `buf.len()`.
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

/// Panics if a writer claims to have written more bytes than it was offered.
#[inline]
pub(crate) fn assert_offered(n: usize, offered: usize) {
    // A separate function, so that callers need not spill the numbers to memory for the message.
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

/// Panics if a reader returned a buffer with fewer than the `before` filled bytes it started with.
#[inline]
pub(crate) fn assert_not_shrunk(buf: &ReadBuf<'_>, before: usize) {
    let after = buf.filled().len();
    assert!(
        after >= before,
        "AsyncRead::poll_read shrank the filled part of its ReadBuf from {before} to {after} \
         bytes; a reader may only add to it"
    );
}

/// Returns whether the call failed with `Interrupted` and should be repeated immediately.
#[inline]
pub(crate) fn is_interrupted<T>(result: &io::Result<T>) -> bool {
    matches!(result, Err(e) if e.kind() == io::ErrorKind::Interrupted)
}
