//! What a file does in the background, one thing at a time.
//!
//! ```text
//!            a read, a write, set_len ──▶ Running ──(poll_settle)──┐
//!    None ──▶                                                       ├──▶ None, and an outcome
//!            start_seek ──▶ Sought, or Running ──(poll_settle)─────┘
//! ```
//!
//! An operation begins by settling the one before it, whoever began that and whether or not somebody
//! still waits for it; what it makes of the outcome is up to the operation. So the cursor is moved by
//! one thread at a time, in the order of the calls.

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
    /// What was read ahead; in the hands of the job while one runs.
    pub(super) staging: Staging,
    /// Of a write that another operation settled: for the next write or flush to tell.
    pub(super) write_error: Option<io::ErrorKind>,
    /// Where the last seek went.
    pub(super) position: u64,
    /// Unknown until first used.
    nowait_support: Option<NowaitSupport>,
}

pub(super) enum Job {
    None,
    Running(JoinHandle<(Outcome, Staging)>),
    /// A seek that was made on the spot, and its result for who polls for it.
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

    /// Waits for what is under way. None if nothing is.
    ///
    /// # Errors
    /// If the job was not run.
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
                    unreachable!("just seen");
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

    /// Waits for what is under way and tells how it went, if it was a write.
    pub(super) fn poll_flush(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        if let Some(kind) = self.write_error.take() {
            return Poll::Ready(Err(kind.into()));
        }
        Poll::Ready(match ready!(self.poll_settle(cx))? {
            Some(Outcome::Written(result)) => result,
            _ => Ok(()),
        })
    }

    /// Waits for what is under way, and keeps the error of a write for who comes next.
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

/// Puts the cursor back by as much as was read ahead: to where the reader thinks it is.
pub(super) fn rewind_read_ahead(mut file: &StdFile, read_ahead: usize) -> io::Result<()> {
    if read_ahead > 0 {
        file.seek(SeekFrom::Current(-(read_ahead as i64)))?;
    }
    Ok(())
}
