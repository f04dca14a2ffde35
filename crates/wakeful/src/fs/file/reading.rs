//! Reading from a file.

use super::in_flight::{InFlight, Job, Outcome};
use super::{File, StdFile};
use crate::fs::dispatch::{charge_for_bytes, poll_inline_unit};
use crate::fs::nowait::{self, NowaitResult};
use crate::io::{AsyncRead, ReadBuf};
use std::io::{self, IoSlice, Seek};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use wakeful_runtime::task::spawn_blocking_or_run;

impl AsyncRead for File {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let file = self.get_mut();
        let in_flight = file.in_flight.get_mut();
        loop {
            match ready!(in_flight.poll_settle(cx))? {
                None => {}
                Some(Outcome::Read(result)) => {
                    result?;
                    in_flight.staging.copy_to(buf);
                    return Poll::Ready(Ok(()));
                }
                Some(Outcome::Written(Err(error))) => in_flight.write_error = Some(error.kind()),
                Some(Outcome::Written(Ok(())) | Outcome::Sought(_) | Outcome::Resized(_)) => {}
            }
            if !in_flight.staging.is_empty() || buf.remaining() == 0 {
                in_flight.staging.copy_to(buf);
                return Poll::Ready(Ok(()));
            }
            let n = buf.remaining().min(file.transfer_max);
            if ready!(in_flight.poll_read_inline(&file.std, cx, buf, n)) {
                return Poll::Ready(Ok(()));
            }
            in_flight.start_read(&file.std, n);
        }
    }
}

impl InFlight {
    /// Reads `n` bytes, or up to the end of the file, if the bytes are in the page cache. If not,
    /// returns `false` and leaves the bytes that were read in the staging buffer.
    ///
    /// Many programs rely on a read of a regular file being short only at the end of the file. So a
    /// read that stops at a page that is not cached continues on the pool. For streams, such as
    /// pipes, a short read is returned.
    fn poll_read_inline(
        &mut self,
        std: &StdFile,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
        n: usize,
    ) -> Poll<bool> {
        if !self.nowait_support(std).read {
            return Poll::Ready(false);
        }
        let Some(unit) = ready!(poll_inline_unit("fs::File::read", cx)) else {
            return Poll::Ready(false);
        };
        let before = buf.filled().len();
        let mut read = 0;
        let done = loop {
            // SAFETY: `nowait::read` only writes to `room`, so it does not uninitialize any byte.
            // `room` is in bounds: `n` is at most `buf.remaining()` from before the loop, of which
            // `read` bytes have been filled since.
            let room = unsafe { &mut buf.unfilled_mut()[..n - read] };
            match nowait::read(std, room) {
                NowaitResult::Done(0) => break true,
                NowaitResult::Done(more) => {
                    // SAFETY: the kernel initialized the first `more` bytes after the filled part.
                    unsafe { buf.assume_init(more) };
                    buf.advance(more);
                    read += more;
                    if read == n {
                        break true;
                    }
                }
                NowaitResult::WouldBlock => break read > 0 && is_stream(std),
                NowaitResult::Unsupported => {
                    self.nowait_support(std).read = false;
                    break false;
                }
            }
        };
        if done {
            unit.made_progress();
            charge_for_bytes(read, cx);
        } else if read > 0 {
            let begun = IoSlice::new(&buf.filled()[before..]);
            self.staging.copy_from(&[begun], 0, read);
            buf.set_filled(before);
        }
        Poll::Ready(done)
    }

    /// Starts to read the rest of `n` bytes on the pool, after those in the staging buffer.
    fn start_read(&mut self, std: &Arc<StdFile>, n: usize) {
        let (std, mut staging) = (std.clone(), self.take_staging());
        self.job = Job::Running(spawn_blocking_or_run("fs::File::read", move || {
            let rest = n - staging.len();
            let result = staging.read_from(&mut &*std, rest);
            (Outcome::Read(result), staging)
        }));
    }
}

/// Returns whether the file has no cursor, as a pipe, a socket or a terminal.
fn is_stream(mut file: &StdFile) -> bool {
    file.stream_position().is_err()
}
