use std::io::{self, ErrorKind};
use std::task::{Context, Poll, Waker};

use wakeful_base::call_now;
use wakeful_base::shield::shield;

use crate::traits::ReadBuf;

/// Bytes from one who writes to one who reads, and who of them waits.
///
/// It has no lock. Whoever keeps it in one passes an [`Afterwards`], and lets go of the lock before
/// that is dropped: wakers are foreign code, and may come back here.
pub(super) struct Pipe {
    /// The first of them have been read; they go when room is needed. (In a `VecDeque` nothing
    /// would have to be moved, but to take bytes out of one costs more.)
    bytes: Vec<u8>,
    n_read: usize,
    len_max: usize,
    closed: bool,
    /// Waits for bytes, or the end.
    reader: Option<Waker>,
    /// Waits for room, or the end.
    writer: Option<Waker>,
}

/// What a pipe is shown as, without its lock.
#[derive(Debug)]
#[expect(dead_code, reason = "it is only shown")]
pub(super) struct PipeState {
    unread_len: usize,
    len_max: usize,
    closed: bool,
}

/// What to do once the lock is free.
#[derive(Default)]
pub(super) struct Afterwards {
    wake: Option<Waker>,
    /// Only to be dropped.
    replaced: Option<Waker>,
}

impl Drop for Afterwards {
    /// A panic of a waker would cost the caller what it has read, or how much it has written.
    #[inline]
    fn drop(&mut self) {
        if let Some(waker) = self.wake.take() {
            call_now(waker);
        }
        if let Some(waker) = self.replaced.take() {
            shield(|| drop(waker));
        }
    }
}

impl Pipe {
    #[track_caller]
    pub(super) fn new(len_max: usize) -> Self {
        assert!(len_max > 0, "`max_buf_size` must be greater than 0");
        Pipe { bytes: Vec::new(), n_read: 0, len_max, closed: false, reader: None, writer: None }
    }

    /// What is inside is read even after the end.
    pub(super) fn poll_read(
        &mut self,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
        afterwards: &mut Afterwards,
    ) -> Poll<io::Result<()>> {
        if buf.remaining() == 0 {
            return Poll::Ready(Ok(()));
        }
        let unread = &self.bytes[self.n_read..];
        if unread.is_empty() {
            if self.closed {
                return Poll::Ready(Ok(()));
            }
            afterwards.replaced = wait_in(&mut self.reader, cx);
            return Poll::Pending;
        }
        let n = unread.len().min(buf.remaining());
        buf.put_slice(&unread[..n]);
        self.n_read += n;
        if self.n_read == self.bytes.len() {
            self.bytes.clear();
            self.n_read = 0;
        }
        afterwards.wake = self.writer.take();
        Poll::Ready(Ok(()))
    }

    /// Takes as many bytes as there is room for, from one buffer after the other.
    pub(super) fn poll_write<'b>(
        &mut self,
        cx: &mut Context<'_>,
        bufs: impl Iterator<Item = &'b [u8]> + Clone,
        afterwards: &mut Afterwards,
    ) -> Poll<io::Result<usize>> {
        if self.closed {
            return Poll::Ready(Err(ErrorKind::BrokenPipe.into()));
        }
        if bufs.clone().all(<[u8]>::is_empty) {
            return Poll::Ready(Ok(0));
        }
        let room = self.len_max - self.unread_len();
        if room == 0 {
            afterwards.replaced = wait_in(&mut self.writer, cx);
            return Poll::Pending;
        }
        let mut left = room;
        for buf in bufs {
            let n = buf.len().min(left);
            self.append(&buf[..n]);
            left -= n;
            if left == 0 {
                break;
            }
        }
        afterwards.wake = self.reader.take();
        Poll::Ready(Ok(room - left))
    }

    pub(super) fn state(&self) -> PipeState {
        let (unread_len, len_max, closed) = (self.unread_len(), self.len_max, self.closed);
        PipeState { unread_len, len_max, closed }
    }

    fn unread_len(&self) -> usize {
        self.bytes.len() - self.n_read
    }

    fn append(&mut self, bytes: &[u8]) {
        let fits = bytes.len() <= self.bytes.capacity() - self.bytes.len();
        // As many were read as are moved: on average no byte is moved more than once.
        if !fits && self.n_read >= self.unread_len() {
            self.bytes.drain(..self.n_read);
            self.n_read = 0;
        }
        self.bytes.extend_from_slice(bytes);
    }

    /// No more bytes will come: whoever reads is to be told.
    pub(super) fn close_by_writer(&mut self, afterwards: &mut Afterwards) {
        self.closed = true;
        afterwards.wake = self.reader.take();
    }

    /// Nobody will read any more: whoever writes is to be told.
    pub(super) fn close_by_reader(&mut self, afterwards: &mut Afterwards) {
        self.closed = true;
        afterwards.wake = self.writer.take();
    }
}

/// Puts the task's waker into `place`, and returns what was there, to be dropped later.
fn wait_in(place: &mut Option<Waker>, cx: &Context<'_>) -> Option<Waker> {
    match place {
        Some(waker) if waker.will_wake(cx.waker()) => None,
        _ => place.replace(cx.waker().clone()),
    }
}
