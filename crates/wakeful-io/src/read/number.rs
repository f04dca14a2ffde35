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
    /// The future of [`AsyncReadExt::read_u8`](crate::AsyncReadExt::read_u8) and those like it.
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

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let mut me = self.project();
        loop {
            let room = &mut me.bytes.as_mut()[usize::from(*me.filled)..];
            if room.is_empty() {
                return Poll::Ready(Ok(F::decode(*me.bytes)));
            }
            let result = ready!(contract::poll_read(me.reader.as_mut(), cx, room));
            if contract::is_interrupted(&result) {
                continue;
            }
            match result? {
                0 => return Poll::Ready(Err(ErrorKind::UnexpectedEof.into())),
                // At most 16.
                n => *me.filled += n as u8,
            }
        }
    }
}
