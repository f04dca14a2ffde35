use std::io::{self, ErrorKind};
use std::mem;
use std::task::{Context, Poll, Waker};

use wakeful_base::call_now;
use wakeful_base::catch_panic::contain_panic;
use wakeful_base::sync::Mutex;

use crate::traits::ReadBuf;

/// Bytes from one who writes to one who reads, and who of them waits.
///
/// It has no lock of its own. A caller that keeps it in a lock passes an [`DeferredWakers`], and releases the lock before
/// it drops that and before it clones a waker: wakers are user code, which may use the same pipe. See [`poll_locked`].
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

/// What `Debug` shows of a pipe, copied out of the lock.
#[derive(Debug)]
#[expect(dead_code, reason = "it is only shown")]
pub(super) struct PipeState {
    unread_len: usize,
    len_max: usize,
    closed: bool,
}

/// What to do once the lock is free.
#[derive(Default)]
pub(super) struct DeferredWakers {
    to_wake: Option<Waker>,
    /// A clone of the task's own waker until that is put into the pipe, then the waker it replaced. Only dropped.
    cloned: Option<Waker>,
}

impl Drop for DeferredWakers {
    /// Contains panics: the caller would lose the bytes it has read, or the number of those it has written.
    #[inline]
    fn drop(&mut self) {
        if let Some(waker) = self.to_wake.take() {
            call_now(waker);
        }
        if let Some(waker) = self.cloned.take() {
            contain_panic(|| drop(waker));
        }
    }
}

/// The two that may have to wait for a pipe.
#[derive(Clone, Copy)]
pub(super) enum Side {
    Reader,
    Writer,
}

/// Makes an `attempt` at a pipe. If that returns `None`, the task waits: `side`'s waker is its own then.
///
/// The lock is released while the task's waker is cloned, after which there is another attempt.
#[inline]
pub(super) fn poll_locked<T>(
    pipe: &Mutex<Pipe>,
    side: Side,
    cx: &Context<'_>,
    mut attempt: impl FnMut(&mut Pipe, &mut DeferredWakers) -> Option<T>,
) -> Poll<T> {
    let mut deferred = DeferredWakers::default();
    let mut locked = pipe.lock();
    loop {
        if let Some(result) = attempt(&mut locked, &mut deferred) {
            return Poll::Ready(result);
        }
        let stored = locked.waker_of(side);
        if wakes_same_task(stored, cx.waker()) {
            return Poll::Pending;
        }
        if deferred.cloned.is_some() {
            mem::swap(stored, &mut deferred.cloned);
            return Poll::Pending;
        }
        drop(locked);
        deferred.cloned = Some(cx.waker().clone());
        locked = pipe.lock();
    }
}

impl Pipe {
    #[track_caller]
    pub(super) fn new(len_max: usize) -> Self {
        assert!(len_max > 0, "`max_buf_size` must be greater than 0");
        Pipe { bytes: Vec::new(), n_read: 0, len_max, closed: false, reader: None, writer: None }
    }

    /// As [`poll_locked`], for a caller that has the pipe to itself.
    #[inline]
    pub(super) fn poll<T>(
        &mut self,
        side: Side,
        cx: &Context<'_>,
        attempt: impl FnOnce(&mut Pipe, &mut DeferredWakers) -> Option<T>,
    ) -> Poll<T> {
        let mut deferred = DeferredWakers::default();
        if let Some(result) = attempt(self, &mut deferred) {
            return Poll::Ready(result);
        }
        let stored = self.waker_of(side);
        if !wakes_same_task(stored, cx.waker()) {
            deferred.cloned = stored.replace(cx.waker().clone());
        }
        Poll::Pending
    }

    fn waker_of(&mut self, side: Side) -> &mut Option<Waker> {
        match side {
            Side::Reader => &mut self.reader,
            Side::Writer => &mut self.writer,
        }
    }

    /// Reads what is inside, even after the end. Returns `None` if there is nothing yet.
    pub(super) fn read(
        &mut self,
        buf: &mut ReadBuf<'_>,
        deferred: &mut DeferredWakers,
    ) -> Option<()> {
        if buf.remaining() == 0 {
            return Some(());
        }
        let unread = &self.bytes[self.n_read..];
        if unread.is_empty() {
            return self.closed.then_some(());
        }
        let n = unread.len().min(buf.remaining());
        buf.put_slice(&unread[..n]);
        self.n_read += n;
        if self.n_read == self.bytes.len() {
            self.bytes.clear();
            self.n_read = 0;
        }
        deferred.to_wake = self.writer.take();
        Some(())
    }

    /// Takes as many bytes as there is room for, from one buffer after the other. Returns `None` if there is
    /// no room.
    pub(super) fn write<'b>(
        &mut self,
        bufs: impl Iterator<Item = &'b [u8]> + Clone,
        deferred: &mut DeferredWakers,
    ) -> Option<io::Result<usize>> {
        if self.closed {
            return Some(Err(ErrorKind::BrokenPipe.into()));
        }
        if bufs.clone().all(<[u8]>::is_empty) {
            return Some(Ok(0));
        }
        let room = self.len_max - self.unread_len();
        if room == 0 {
            return None;
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
        deferred.to_wake = self.reader.take();
        Some(Ok(room - left))
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
    pub(super) fn close_by_writer(&mut self, deferred: &mut DeferredWakers) {
        self.closed = true;
        deferred.to_wake = self.reader.take();
    }

    /// Nobody will read any more: whoever writes is to be told.
    pub(super) fn close_by_reader(&mut self, deferred: &mut DeferredWakers) {
        self.closed = true;
        deferred.to_wake = self.writer.take();
    }
}

/// Whether the waker in `stored` wakes the same task as `waker`.
fn wakes_same_task(stored: &Option<Waker>, waker: &Waker) -> bool {
    matches!(stored, Some(stored) if stored.will_wake(waker))
}
