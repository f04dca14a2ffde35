//! The operation that a file runs in the background. There is at most one at a time.
//!
//! ```text
//!            a read, a write, set_len ──▶ Running ──(poll_settle)─────┐
//!    None ──▶                                                         ├──▶ None, and an outcome
//!            start_seek ──▶ SeekDone, or Running ──(poll_settle)──────┘
//! ```
//!
//! Each operation first settles the one before it: it waits for that job and decides what to do
//! with its outcome. It does so even if the future that started the job was dropped. So only one
//! thread at a time moves the cursor, in the order of the calls.

use crate::fs::dispatch::background_task_failed;
use crate::fs::nowait::NowaitSupport;
use crate::io::Staging;
use std::fs::File as StdFile;
use std::future::{Future, poll_fn};
use std::io::{self, Seek, SeekFrom};
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use wakeful_base::budget;
use wakeful_runtime::task::JoinHandle;

pub(super) struct InFlight {
    pub(super) job: Job,
    /// Bytes that were read ahead of the caller. Moved into the job while one runs.
    pub(super) staging: Staging,
    /// The error of a write that another operation settled. The next write or flush returns it.
    pub(super) write_error: Option<io::ErrorKind>,
    /// The position that the last seek returned.
    pub(super) position: u64,
    /// `None` until first used.
    nowait_support: Option<NowaitSupport>,
}

pub(super) enum Job {
    None,
    Running(JoinHandle<(Outcome, Staging)>),
    /// The result of a seek that ran inline, until `poll_complete` takes it.
    SeekDone(io::Result<u64>),
}

#[derive(Debug)]
pub(super) enum Outcome {
    Read(io::Result<()>),
    Written(io::Result<()>),
    Sought(io::Result<u64>),
    Resized(io::Result<()>),
}

impl InFlight {
    pub(super) fn new(nowait_support: Option<NowaitSupport>) -> InFlight {
        InFlight {
            job: Job::None,
            staging: Staging::default(),
            write_error: None,
            position: 0,
            nowait_support,
        }
    }

    /// Waits for the job under way and returns its outcome, or `None` if there is no job.
    ///
    /// # Errors
    /// Returns an error if the job panicked, or did not run because the runtime has shut down.
    pub(super) fn poll_settle(
        &mut self,
        cx: &mut Context<'_>,
    ) -> Poll<io::Result<Option<Outcome>>> {
        match &mut self.job {
            Job::None => Poll::Ready(Ok(None)),
            Job::Running(job) => {
                let ended = ready!(Pin::new(job).poll(cx));
                self.job = Job::None;
                let (outcome, staging) = ended.map_err(|_| background_task_failed())?;
                self.staging = staging;
                self.record_position(&outcome);
                Poll::Ready(Ok(Some(outcome)))
            }
            Job::SeekDone(_) => {
                ready!(budget::poll_proceed(cx)).made_progress();
                let Job::SeekDone(result) = std::mem::replace(&mut self.job, Job::None) else {
                    unreachable!("matched above");
                };
                let outcome = Outcome::Sought(result);
                self.record_position(&outcome);
                Poll::Ready(Ok(Some(outcome)))
            }
        }
    }

    fn record_position(&mut self, outcome: &Outcome) {
        if let Outcome::Sought(Ok(position)) = outcome {
            self.position = *position;
        }
    }

    /// Waits for the job under way. Returns its result if it is a write.
    pub(super) fn poll_flush(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        if let Some(kind) = self.write_error.take() {
            return Poll::Ready(Err(kind.into()));
        }
        Poll::Ready(match ready!(self.poll_settle(cx))? {
            Some(Outcome::Written(result)) => result,
            _ => Ok(()),
        })
    }

    /// Waits for the job under way, and keeps the error of a write for the next write or flush.
    pub(super) async fn settle(&mut self) {
        if let Err(error) = poll_fn(|cx| self.poll_flush(cx)).await {
            self.write_error = Some(error.kind());
        }
    }

    pub(super) fn take_staging(&mut self) -> Staging {
        std::mem::take(&mut self.staging)
    }

    pub(super) fn nowait_support(&mut self, file: &StdFile) -> &mut NowaitSupport {
        self.nowait_support.get_or_insert_with(|| NowaitSupport::of(file))
    }
}

/// Moves the cursor back by the bytes that were read ahead, to the position that the caller has
/// reached.
pub(super) fn rewind_read_ahead(mut file: &StdFile, read_ahead: usize) -> io::Result<()> {
    if read_ahead > 0 {
        file.seek(SeekFrom::Current(-(read_ahead as i64)))?;
    }
    Ok(())
}
