use std::future::Future;
use std::io;
use std::marker::PhantomPinned;
use std::mem::MaybeUninit;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use pin_project_lite::pin_project;

use crate::contract;
use crate::traits::AsyncRead;

pin_project! {
    /// The future returned by [`AsyncReadExt::read_to_end`](crate::AsyncReadExt::read_to_end).
    #[derive(Debug)]
    #[must_use = "futures do nothing unless you `.await` or poll them"]
    pub struct ReadToEnd<'a, R: ?Sized> {
        reader: &'a mut R,
        buf: &'a mut Vec<u8>,
        growth: VecGrowth,
        #[pin]
        _pin: PhantomPinned,
    }
}

impl<'a, R: ?Sized> ReadToEnd<'a, R> {
    pub(super) fn new(reader: &'a mut R, buf: &'a mut Vec<u8>) -> Self {
        ReadToEnd { reader, growth: VecGrowth::of(buf), buf, _pin: PhantomPinned }
    }
}

impl<R: AsyncRead + Unpin + ?Sized> Future for ReadToEnd<'_, R> {
    type Output = io::Result<usize>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let me = self.project();
        // SAFETY: `growth` was created for `buf`, which this future has borrowed exclusively since
        // then.
        unsafe { me.growth.poll_read_to_end(Pin::new(&mut **me.reader), cx, me.buf) }
    }
}

/// The minimum room offered to a read, in bytes, and the size of the probe on the stack. The same
/// as in std's `read_to_end`.
const ROOM_MIN: usize = 32;

/// The growth of a vector while a reader is read to its end.
///
/// Spare capacity is offered to the reader without being zeroed. It doubles when it is used up, so
/// that a long stream takes few large reads and a short one allocates little. A vector whose
/// initial capacity fits exactly should not grow only to find the end of the stream. So once such a
/// vector is full, the next read goes into a small buffer on the stack (the probe).
#[derive(Debug)]
pub(super) struct VecGrowth {
    starting_len: usize,
    starting_capacity: usize,
    /// How many bytes of the spare capacity are known to be initialized.
    initialized: usize,
}

impl VecGrowth {
    pub(super) fn of(vec: &Vec<u8>) -> Self {
        VecGrowth { starting_len: vec.len(), starting_capacity: vec.capacity(), initialized: 0 }
    }

    /// Reads to the end, and returns how many bytes were added since `of` was called.
    ///
    /// # Safety
    ///
    /// `vec` must be the vector passed to [`of`](Self::of), modified only by this method since
    /// then, or a vector without allocated memory.
    pub(super) unsafe fn poll_read_to_end<R: AsyncRead + ?Sized>(
        &mut self,
        mut reader: Pin<&mut R>,
        cx: &mut Context<'_>,
        vec: &mut Vec<u8>,
    ) -> Poll<io::Result<usize>> {
        loop {
            let result = if self.should_probe(vec) {
                ready!(self.poll_probe(reader.as_mut(), cx, vec))
            } else {
                ready!(self.poll_read_more(reader.as_mut(), cx, vec))
            };
            if contract::is_interrupted(&result) {
                continue;
            }
            if result? == 0 {
                return Poll::Ready(Ok(vec.len() - self.starting_len));
            }
        }
    }

    fn should_probe(&self, vec: &Vec<u8>) -> bool {
        vec.capacity() - vec.len() < ROOM_MIN
            && vec.capacity() == self.starting_capacity
            && self.starting_capacity >= ROOM_MIN
    }

    fn poll_probe<R: AsyncRead + ?Sized>(
        &mut self,
        reader: Pin<&mut R>,
        cx: &mut Context<'_>,
        vec: &mut Vec<u8>,
    ) -> Poll<io::Result<usize>> {
        let mut probe = [MaybeUninit::uninit(); ROOM_MIN];
        // SAFETY: `poll_read_uninit` is told that zero bytes are initialized, which is always true.
        let n = ready!(unsafe { contract::poll_read_uninit(reader, cx, &mut probe, &mut 0) })?;
        // SAFETY: `poll_read_uninit` has checked that the first `n` bytes are initialized.
        let bytes = unsafe { &*(&raw const probe[..n] as *const [u8]) };
        // Appending may reallocate, and overwrites bytes that counted as spare capacity.
        self.initialized = 0;
        vec.extend_from_slice(bytes);
        Poll::Ready(Ok(n))
    }

    fn poll_read_more<R: AsyncRead + ?Sized>(
        &mut self,
        reader: Pin<&mut R>,
        cx: &mut Context<'_>,
        vec: &mut Vec<u8>,
    ) -> Poll<io::Result<usize>> {
        if vec.capacity() - vec.len() < ROOM_MIN {
            vec.reserve(ROOM_MIN);
            self.initialized = 0;
        }
        let len = vec.len();
        let room = vec.spare_capacity_mut();
        // SAFETY: the first `initialized` bytes of the spare capacity are initialized. Earlier
        // reads of the same memory reported them, and bytes that became part of the vector were
        // subtracted. Whenever the memory may have moved, the count was reset to zero; this
        // includes a vector without memory, for which `reserve` was called above.
        let n =
            ready!(unsafe { contract::poll_read_uninit(reader, cx, room, &mut self.initialized) })?;
        self.initialized -= n;
        // SAFETY: `poll_read_uninit` has checked that the first `n` bytes of the spare capacity are
        // initialized and that `n` does not exceed its length.
        unsafe { vec.set_len(len + n) };
        Poll::Ready(Ok(n))
    }
}
