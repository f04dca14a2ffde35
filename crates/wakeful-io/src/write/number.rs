use std::future::Future;
use std::io::{self, ErrorKind};
use std::marker::PhantomPinned;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use pin_project_lite::pin_project;

use crate::contract;
use crate::number::NumberFormat;
use crate::traits::AsyncWrite;

pin_project! {
    /// The future returned by [`AsyncWriteExt::write_u8`](crate::AsyncWriteExt::write_u8) and the
    /// other methods that write a number.
    #[must_use = "futures do nothing unless you `.await` or poll them"]
    pub struct WriteNumber<W, F: NumberFormat> {
        #[pin]
        writer: W,
        bytes: F::Bytes,
        written: u8,
        #[pin]
        _pin: PhantomPinned,
    }
}

impl<W, F: NumberFormat> WriteNumber<W, F> {
    pub(super) fn new(writer: W, value: F::Value) -> Self {
        WriteNumber { writer, bytes: F::encode(value), written: 0, _pin: PhantomPinned }
    }
}

impl<W: AsyncWrite, F: NumberFormat> Future for WriteNumber<W, F> {
    type Output = io::Result<()>;

    #[inline]
    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let mut me = self.project();
        loop {
            let bytes = me.bytes.as_ref();
            let result = if *me.written == 0 {
                // Nearly always the only write. In this call the length is a compile-time constant.
                ready!(contract::poll_write(me.writer.as_mut(), cx, bytes))
            } else {
                let rest = &bytes[usize::from(*me.written)..];
                ready!(contract::poll_write(me.writer.as_mut(), cx, rest))
            };
            if contract::is_interrupted(&result) {
                continue;
            }
            let n = result?;
            if n == 0 {
                return Poll::Ready(Err(ErrorKind::WriteZero.into()));
            }
            // Does not overflow: numbers have at most 16 bytes.
            let written = *me.written + n as u8;
            if usize::from(written) == size_of::<F::Bytes>() {
                return Poll::Ready(Ok(()));
            }
            *me.written = written;
        }
    }
}
