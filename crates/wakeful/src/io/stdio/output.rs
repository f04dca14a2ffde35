//! Writing standard output and standard error on the blocking pool.

use crate::io::{Staging, TRANSFER_MAX};
use std::future::Future;
use std::io::{self, IoSlice, Write};
use std::marker::PhantomData;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use wakeful_runtime::task::{JoinHandle, spawn_mandatory_blocking};

/// Standard output or standard error.
pub(super) trait StdOutput {
    /// The name of the type, for panic messages.
    const NAME: &'static str;

    fn std() -> impl Write;
}

/// A writer to one of the two, with the write or flush in progress.
#[derive(Debug)]
pub(super) struct PoolWriter<O> {
    staging: Staging,
    job: Option<JoinHandle<(io::Result<()>, Staging)>>,
    /// Whether there was a write since the last flush.
    needs_flush: bool,
    _output: PhantomData<O>,
}

impl<O: StdOutput> PoolWriter<O> {
    pub(super) fn new() -> PoolWriter<O> {
        PoolWriter {
            staging: Staging::default(),
            job: None,
            needs_flush: false,
            _output: PhantomData,
        }
    }

    pub(super) fn poll_write(
        &mut self,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        ready!(self.poll_job(cx))?;
        let n = buf.len().min(TRANSFER_MAX);
        self.staging.copy_from(&[IoSlice::new(buf)], 0, n);
        self.start(|staging| staging.write_to(&mut O::std()))?;
        self.needs_flush = true;
        Poll::Ready(Ok(n))
    }

    pub(super) fn poll_flush(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(self.poll_job(cx))?;
        if self.needs_flush {
            self.start(|_| O::std().flush())?;
            self.needs_flush = false;
            ready!(self.poll_job(cx))?;
        }
        Poll::Ready(Ok(()))
    }

    /// Waits for the write or flush in progress, and returns its result.
    fn poll_job(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let Some(job) = &mut self.job else { return Poll::Ready(Ok(())) };
        let ended = ready!(Pin::new(job).poll(cx));
        self.job = None;
        let (result, staging) = ended?;
        self.staging = staging;
        Poll::Ready(result)
    }

    fn start(&mut self, work: fn(&mut Staging) -> io::Result<()>) -> io::Result<()> {
        let mut staging = std::mem::take(&mut self.staging);
        self.job = Some(spawn_mandatory_blocking(O::NAME, move || {
            let result = work(&mut staging);
            (result, staging)
        })?);
        Ok(())
    }
}
