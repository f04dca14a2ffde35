use std::io::{self, ErrorKind};
use std::mem;
use std::task::{Context, Poll, Waker};

use wakeful_base::call_now;
use wakeful_base::catch_panic::contain_panic;
use wakeful_base::sync::Mutex;
use wakeful_base::waiting::{LeafDetails, WaitKind, address, note_with};

use crate::traits::ReadBuf;

/// A bounded byte queue with one writer and one reader, and the wakers of the tasks that wait for
/// it.
///
/// It has no lock of its own. A caller that keeps the pipe in a lock passes [`DeferredWakers`], and
/// releases the lock before it drops them and before it clones a waker: wakers are user code, which
/// may use the same pipe. See [`poll_locked`].
pub(super) struct Pipe {
    /// The first `n_read` bytes have been read and are removed when room is needed. (A `VecDeque`
    /// would not need to move bytes, but reading from its two slices is slower.)
    bytes: Vec<u8>,
    n_read: usize,
    len_max: usize,
    closed: bool,
    /// The waker of the task that waits for bytes or for the pipe to close.
    reader: Option<Waker>,
    /// The waker of the task that waits for room or for the pipe to close.
    writer: Option<Waker>,
}

/// What `Debug` shows of a pipe, copied while the lock is held.
#[derive(Debug)]
#[expect(dead_code, reason = "it is only shown")]
pub(super) struct PipeState {
    unread_len: usize,
    len_max: usize,
    closed: bool,
}

/// Wakers to be called or dropped after the lock is released.
#[derive(Default)]
pub(super) struct DeferredWakers {
    to_wake: Option<Waker>,
    /// A clone of the task's waker. Once it is stored in the pipe, the waker that it replaced.
    cloned: Option<Waker>,
}

impl Drop for DeferredWakers {
    /// Catches panics of the wakers: otherwise the caller would lose the bytes it has read, or the
    /// number of bytes it has written.
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

/// The side of a pipe that an operation belongs to.
#[derive(Clone, Copy)]
pub(super) enum Side {
    Reader,
    Writer,
}

/// Calls `attempt` under the lock. If that returns `None`, registers the task's waker for `side`
/// and returns `Pending`.
///
/// The lock is released while the task's waker is cloned. The other side may use the pipe in the
/// meantime, so `attempt` is called again afterwards.
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
            break;
        }
        if deferred.cloned.is_some() {
            mem::swap(stored, &mut deferred.cloned);
            break;
        }
        drop(locked);
        deferred.cloned = Some(cx.waker().clone());
        locked = pipe.lock();
    }
    drop(locked);
    note_with(WaitKind::Pipe, address(pipe), cx.waker(), || pipe.lock().describe());
    Poll::Pending
}

impl Pipe {
    #[track_caller]
    pub(super) fn new(len_max: usize) -> Self {
        assert!(len_max > 0, "`max_buf_size` must be greater than 0");
        Pipe { bytes: Vec::new(), n_read: 0, len_max, closed: false, reader: None, writer: None }
    }

    /// Polls like [`poll_locked`], on a pipe that is borrowed exclusively instead of locked.
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
        note_with(WaitKind::Pipe, address(self), cx.waker(), || self.describe());
        Poll::Pending
    }

    /// Returns what is known of the pipe, for a task that waits for it.
    fn describe(&self) -> LeafDetails {
        LeafDetails {
            available: Some(self.unread_len() as u64),
            limit: Some(self.len_max as u64),
            ..LeafDetails::default()
        }
    }

    fn waker_of(&mut self, side: Side) -> &mut Option<Waker> {
        match side {
            Side::Reader => &mut self.reader,
            Side::Writer => &mut self.writer,
        }
    }

    /// Reads available bytes, even after the pipe is closed. Returns `None` if the reader has to
    /// wait.
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

    /// Writes as many bytes as there is room for, from one buffer after the other. Returns `None`
    /// if there is no room.
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
        // Moves at most as many bytes as were read since the last move, so each byte is moved at
        // most once on average.
        if !fits && self.n_read >= self.unread_len() {
            self.bytes.drain(..self.n_read);
            self.n_read = 0;
        }
        self.bytes.extend_from_slice(bytes);
    }

    /// Closes the pipe from the writer's side. Dropping `deferred` wakes a waiting reader.
    pub(super) fn close_by_writer(&mut self, deferred: &mut DeferredWakers) {
        self.closed = true;
        deferred.to_wake = self.reader.take();
    }

    /// Closes the pipe from the reader's side. Dropping `deferred` wakes a waiting writer.
    pub(super) fn close_by_reader(&mut self, deferred: &mut DeferredWakers) {
        self.closed = true;
        deferred.to_wake = self.writer.take();
    }
}

/// Returns whether the stored waker wakes the same task as `waker`.
fn wakes_same_task(stored: &Option<Waker>, waker: &Waker) -> bool {
    matches!(stored, Some(stored) if stored.will_wake(waker))
}
