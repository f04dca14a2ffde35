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
    /// The future of [`AsyncWriteExt::write_u8`](crate::AsyncWriteExt::write_u8) and those like it.
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

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let mut me = self.project();
        loop {
            let rest = &me.bytes.as_ref()[usize::from(*me.written)..];
            if rest.is_empty() {
                return Poll::Ready(Ok(()));
            }
            let result = ready!(contract::poll_write(me.writer.as_mut(), cx, rest));
            if contract::is_interrupted(&result) {
                continue;
            }
            match result? {
                0 => return Poll::Ready(Err(ErrorKind::WriteZero.into())),
                // At most 16.
                n => *me.written += n as u8,
            }
        }
    }
}
