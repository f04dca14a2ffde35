//! Reading standard input on the blocking pool.

use crate::io::{ReadBuf, Staging, TRANSFER_MAX};
use std::future::Future;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use wakeful_runtime::task::{JoinHandle, try_spawn_blocking};

/// The bytes that were read, and the read in progress.
#[derive(Debug, Default)]
pub(super) struct PoolReader {
    staging: Staging,
    job: Option<JoinHandle<(io::Result<()>, Staging)>>,
}

impl PoolReader {
    pub(super) fn poll_read(
        &mut self,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if self.job.is_none() {
            if !self.staging.is_empty() || buf.remaining() == 0 {
                self.staging.copy_to(buf);
                return Poll::Ready(Ok(()));
            }
            self.start(buf.remaining().min(TRANSFER_MAX))?;
        }
        let job = self.job.as_mut().expect("a read is in progress");
        let ended = ready!(Pin::new(job).poll(cx));
        self.job = None;
        let (result, staging) = ended?;
        self.staging = staging;
        result?;
        self.staging.copy_to(buf);
        Poll::Ready(Ok(()))
    }

    fn start(&mut self, n: usize) -> io::Result<()> {
        let mut staging = std::mem::take(&mut self.staging);
        self.job = Some(try_spawn_blocking("io::Stdin::read", move || {
            let result = staging.read_from(&mut io::stdin(), n);
            (result, staging)
        })?);
        Ok(())
    }
}
