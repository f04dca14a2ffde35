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
    /// The future of [`AsyncReadExt::read_to_end`](crate::AsyncReadExt::read_to_end).
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
        // SAFETY: `growth` was made for `buf`, which we have borrowed since.
        unsafe { me.growth.poll_read_to_end(Pin::new(&mut **me.reader), cx, me.buf) }
    }
}

/// The least room a read is offered.
const ROOM_MIN: usize = 32;

/// How a vector grows while it takes in all that a reader has.
///
/// Room is never zeroed: readers are offered the spare capacity as it is. It doubles whenever it
/// has run out, so a long stream is read in few large steps and a short one allocates little. A
/// vector that was sized to fit is not grown only to learn that there is nothing more: once full,
/// it is followed up by reads into a few bytes on the stack.
#[derive(Debug)]
pub(super) struct VecGrowth {
    starting_len: usize,
    starting_capacity: usize,
    /// How much of the spare capacity is known to be initialized.
    initialized: usize,
}

impl VecGrowth {
    pub(super) fn of(vec: &Vec<u8>) -> Self {
        VecGrowth { starting_len: vec.len(), starting_capacity: vec.capacity(), initialized: 0 }
    }

    /// Returns how many bytes were added since the start.
    ///
    /// # Safety
    ///
    /// `vec` must be the one that this was made for, and nobody else may have touched it, or one
    /// without memory.
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
        // SAFETY: zero bytes are initialized.
        let n = ready!(unsafe { contract::poll_read_uninit(reader, cx, &mut probe, &mut 0) })?;
        // SAFETY: as many were read, hence initialized.
        let bytes = unsafe { &*(&raw const probe[..n] as *const [u8]) };
        // The bytes may lead to a new allocation, or take the place of some that counted as spare.
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
        // SAFETY: `initialized` is what earlier reads said of this memory, less what became part of
        // the vector since; where the memory changed it was set to zero.
        let n =
            ready!(unsafe { contract::poll_read_uninit(reader, cx, room, &mut self.initialized) })?;
        self.initialized -= n;
        // SAFETY: the first `n` bytes of the spare capacity were read, hence initialized.
        unsafe { vec.set_len(len + n) };
        Poll::Ready(Ok(n))
    }
}
