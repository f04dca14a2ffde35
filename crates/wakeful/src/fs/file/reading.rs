//! How a file is read.

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
    /// Reads `n` bytes if they are in memory, or all there are. False if not: what there was of them is
    /// in the staging buffer then.
    ///
    /// A read of a regular file is only short at its end, which many programs count on. So one that ends
    /// where the memory of the kernel does is not answered with what there is. One of a pipe is.
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
            // SAFETY: the kernel only writes to it.
            let room = unsafe { &mut buf.unfilled_mut()[..n - read] };
            match nowait::read(std, room) {
                NowaitResult::Done(0) => break true,
                NowaitResult::Done(more) => {
                    // SAFETY: the kernel initialized so many.
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

    /// Has the rest of `n` bytes read in the background.
    fn start_read(&mut self, std: &Arc<StdFile>, n: usize) {
        let (std, mut staging) = (std.clone(), self.take_staging());
        self.job = Job::Running(spawn_blocking_or_run("fs::File::read", move || {
            let rest = n - staging.len();
            let result = staging.read_from(&mut &*std, rest);
            (Outcome::Read(result), staging)
        }));
    }
}

/// Whether there is no cursor in it: a pipe, a socket, a terminal.
fn is_stream(mut file: &StdFile) -> bool {
    file.stream_position().is_err()
}
