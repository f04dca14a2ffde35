use std::future::Future;
use std::io::{self, ErrorKind};
use std::marker::PhantomPinned;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use pin_project_lite::pin_project;

use crate::contract;
use crate::number::NumberFormat;
use crate::traits::AsyncRead;

pin_project! {
    /// The future returned by [`AsyncReadExt::read_u8`](crate::AsyncReadExt::read_u8) and the other
    /// methods that read a number.
    #[must_use = "futures do nothing unless you `.await` or poll them"]
    pub struct ReadNumber<R, F: NumberFormat> {
        #[pin]
        reader: R,
        bytes: F::Bytes,
        filled: u8,
        #[pin]
        _pin: PhantomPinned,
    }
}

impl<R, F: NumberFormat> ReadNumber<R, F> {
    pub(super) fn new(reader: R) -> Self {
        ReadNumber { reader, bytes: F::ZEROED, filled: 0, _pin: PhantomPinned }
    }
}

impl<R: AsyncRead, F: NumberFormat> Future for ReadNumber<R, F> {
    type Output = io::Result<F::Value>;

    #[inline]
    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let mut me = self.project();
        loop {
            let bytes = me.bytes.as_mut();
            let result = if *me.filled == 0 {
                // Nearly always the only read. In this call the length is a compile-time constant.
                ready!(contract::poll_read(me.reader.as_mut(), cx, bytes))
            } else {
                let rest = &mut bytes[usize::from(*me.filled)..];
                ready!(contract::poll_read(me.reader.as_mut(), cx, rest))
            };
            if contract::is_interrupted(&result) {
                continue;
            }
            let n = result?;
            if n == 0 {
                return Poll::Ready(Err(ErrorKind::UnexpectedEof.into()));
            }
            // Does not overflow: numbers have at most 16 bytes.
            let filled = *me.filled + n as u8;
            if usize::from(filled) == size_of::<F::Bytes>() {
                return Poll::Ready(Ok(F::decode(*me.bytes)));
            }
            *me.filled = filled;
        }
    }
}
