//! Writing to a file.

use super::File;
use super::in_flight::{Job, Outcome, rewind_read_ahead};
use crate::fs::dispatch::{background_task_failed, charge_for_bytes, poll_inline_unit};
use crate::fs::nowait::{self, NowaitResult};
use crate::io::AsyncWrite;
use std::io::{self, IoSlice};
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use wakeful_runtime::task::spawn_mandatory_blocking;

const WRITE: &str = "fs::File::write";

impl AsyncWrite for File {
    fn poll_write(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        let file = self.get_mut();
        let n = buf.len().min(file.transfer_max);
        file.poll_write_slices(cx, &[IoSlice::new(&buf[..n])], n)
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let total = bufs.iter().fold(0, |sum: usize, buf| sum.saturating_add(buf.len()));
        let file = self.get_mut();
        let n = total.min(file.transfer_max);
        file.poll_write_slices(cx, bufs, n)
    }

    fn is_write_vectored(&self) -> bool {
        true
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.get_mut().in_flight.get_mut().poll_flush(cx)
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.poll_flush(cx)
    }
}

impl File {
    /// Writes the first `n` bytes of `slices`: inline as far as that does not block, the rest on
    /// the pool.
    fn poll_write_slices(
        &mut self,
        cx: &mut Context<'_>,
        slices: &[IoSlice<'_>],
        n: usize,
    ) -> Poll<io::Result<usize>> {
        let in_flight = self.in_flight.get_mut();
        if let Some(kind) = in_flight.write_error.take() {
            return Poll::Ready(Err(kind.into()));
        }
        if let Some(Outcome::Written(result)) = ready!(in_flight.poll_settle(cx))? {
            result?;
        }
        if n == 0 {
            return Poll::Ready(Ok(0));
        }
        let written = ready!(self.poll_write_inline(cx, slices, n));
        if written == n {
            return Poll::Ready(Ok(n));
        }
        match self.start_write(slices, written, n - written) {
            Ok(()) => Poll::Ready(Ok(n)),
            Err(_) if written > 0 => Poll::Ready(Ok(written)),
            Err(error) => Poll::Ready(Err(error)),
        }
    }

    /// Writes what does not block, and returns the number of bytes. On an error returns zero: the
    /// write on the pool then fails in the same way and reports the error.
    fn poll_write_inline(
        &mut self,
        cx: &mut Context<'_>,
        slices: &[IoSlice<'_>],
        n: usize,
    ) -> Poll<usize> {
        let in_flight = self.in_flight.get_mut();
        // Slices with more than `n` bytes, which would have to be cut, are rare.
        let is_all = slices.iter().map(|slice| slice.len()).sum::<usize>() == n;
        if !in_flight.staging.is_empty() || !is_all || !in_flight.nowait_support(&self.std).write {
            return Poll::Ready(0);
        }
        let Some(unit) = ready!(poll_inline_unit(WRITE, cx)) else { return Poll::Ready(0) };
        match nowait::write(&self.std, slices) {
            NowaitResult::Done(written) => {
                unit.made_progress();
                charge_for_bytes(written, cx);
                Poll::Ready(written)
            }
            NowaitResult::WouldBlock => Poll::Ready(0),
            NowaitResult::Unsupported => {
                in_flight.nowait_support(&self.std).write = false;
                Poll::Ready(0)
            }
        }
    }

    /// Starts to write `n` bytes of `slices` on the pool, after the first `skip` bytes.
    fn start_write(&mut self, slices: &[IoSlice<'_>], skip: usize, n: usize) -> io::Result<()> {
        let in_flight = self.in_flight.get_mut();
        let read_ahead = in_flight.staging.len();
        in_flight.staging.copy_from(slices, skip, n);
        let (std, mut staging) = (self.std.clone(), in_flight.take_staging());
        let job = spawn_mandatory_blocking(WRITE, move || {
            let result =
                rewind_read_ahead(&std, read_ahead).and_then(|()| staging.write_to(&mut &*std));
            staging.clear();
            (Outcome::Written(result), staging)
        });
        in_flight.job = Job::Running(job.map_err(|_| background_task_failed())?);
        Ok(())
    }
}
