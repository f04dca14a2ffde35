use std::collections::VecDeque;
use std::io::{self, ErrorKind};
use std::task::{Context, Poll, Waker};

use crate::traits::ReadBuf;

/// Bytes from one who writes to one who reads, and who of them waits.
///
/// It has no lock. Whoever keeps it in one passes an [`Afterwards`], and lets go of the lock before
/// that is dropped: wakers are foreign code, and may come back here.
#[derive(Debug)]
pub(super) struct Pipe {
    bytes: VecDeque<u8>,
    len_max: usize,
    closed: bool,
    /// Waits for bytes, or the end.
    reader: Option<Waker>,
    /// Waits for room, or the end.
    writer: Option<Waker>,
}

/// What to do once the lock is free.
#[derive(Default)]
pub(super) struct Afterwards {
    wake: Option<Waker>,
    /// Only to be dropped.
    replaced: Option<Waker>,
}

impl Drop for Afterwards {
    fn drop(&mut self) {
        if let Some(waker) = self.wake.take() {
            waker.wake();
        }
        drop(self.replaced.take());
    }
}

impl Pipe {
    #[track_caller]
    pub(super) fn new(len_max: usize) -> Self {
        assert!(len_max > 0, "`max_buf_size` must be greater than 0");
        Pipe { bytes: VecDeque::new(), len_max, closed: false, reader: None, writer: None }
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
        if self.bytes.is_empty() {
            if self.closed {
                return Poll::Ready(Ok(()));
            }
            afterwards.replaced = wait_in(&mut self.reader, cx);
            return Poll::Pending;
        }
        let n = self.bytes.len().min(buf.remaining());
        let (front, back) = self.bytes.as_slices();
        let n_front = n.min(front.len());
        buf.put_slice(&front[..n_front]);
        buf.put_slice(&back[..n - n_front]);
        self.bytes.drain(..n);
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
        let room = self.len_max - self.bytes.len();
        if room == 0 {
            afterwards.replaced = wait_in(&mut self.writer, cx);
            return Poll::Pending;
        }
        let mut left = room;
        for buf in bufs {
            let n = buf.len().min(left);
            self.bytes.extend(&buf[..n]);
            left -= n;
            if left == 0 {
                break;
            }
        }
        afterwards.wake = self.reader.take();
        Poll::Ready(Ok(room - left))
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
