use std::io;
use std::mem::MaybeUninit;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use super::poll_consume_budget;
use crate::traits::{AsyncRead, ReadBuf};

/// A reader that repeats one byte forever, created by [`repeat`].
///
/// ```
/// use wakeful::io::{AsyncReadExt, Repeat, repeat};
///
/// # wakeful::runtime::Runtime::new().unwrap().block_on(async {
/// let zeroes: Repeat = repeat(0);
/// let mut padding = Vec::new();
/// zeroes.take(5).read_to_end(&mut padding).await?;
/// assert_eq!(padding, [0; 5]);
/// # std::io::Result::Ok(()) }).unwrap();
/// ```
#[derive(Debug)]
pub struct Repeat {
    byte: u8,
}

/// Creates a reader that fills every buffer with `byte` and never ends.
///
/// ```
/// # wakeful::runtime::Runtime::new().unwrap().block_on(async {
/// use wakeful::io::{AsyncReadExt, repeat};
///
/// let mut buf = [0; 3];
/// repeat(7).read_exact(&mut buf).await?;
/// assert_eq!(buf, [7, 7, 7]);
/// # std::io::Result::Ok(()) }).unwrap();
/// ```
pub fn repeat(byte: u8) -> Repeat {
    Repeat { byte }
}

impl AsyncRead for Repeat {
    #[inline]
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        ready!(poll_consume_budget(cx));
        let n = buf.remaining();
        // SAFETY: the whole unfilled part, `n` bytes, is overwritten with initialized bytes.
        unsafe {
            buf.unfilled_mut().fill(MaybeUninit::new(self.byte));
            buf.assume_init(n);
        }
        buf.advance(n);
        Poll::Ready(Ok(()))
    }
}
