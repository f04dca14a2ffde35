//! A child that has not been waited for yet.

use super::exit_watch::ExitWatch;
use super::{orphan, reaper};
use std::fmt;
use std::io;
use std::process::{Child, ExitStatus};
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use wakeful_reactor::io::{IoDriver, is_stopped_error};
use wakeful_runtime::runtime::try_current_io;

/// A child whose exit has not been observed, and its watch. Becomes an orphan when dropped.
pub(super) struct RunningChild {
    /// `None` only during the drop.
    process: Option<Process>,
    pub(super) kill_on_drop: bool,
}

pub(super) struct Process {
    pub(super) child: Child,
    pub(super) watch: ExitWatch,
}

impl Process {
    pub(super) fn poll_exit(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<ExitStatus>> {
        self.watch.poll_exit(&mut self.child, cx)
    }
}

impl RunningChild {
    /// Wraps a child that was just started. Kills it if it cannot be watched.
    pub(super) fn new(mut child: Child, driver: &Arc<IoDriver>) -> io::Result<RunningChild> {
        match ExitWatch::new(&child, driver) {
            Ok(watch) => {
                Ok(RunningChild { process: Some(Process { child, watch }), kill_on_drop: false })
            }
            Err(error) => {
                // The caller gets the error of the watch. If the kill fails too, nothing else can
                // be done.
                let _refused = child.kill();
                reaper::block_on_exit(child);
                Err(error)
            }
        }
    }

    fn process(&mut self) -> &mut Process {
        self.process.as_mut().expect("`process` is `Some` until the drop")
    }

    pub(super) fn child(&mut self) -> &mut Child {
        &mut self.process().child
    }

    pub(super) fn id(&self) -> u32 {
        self.process.as_ref().expect("`process` is `Some` until the drop").child.id()
    }

    pub(super) fn kill(&mut self) -> io::Result<()> {
        self.child().kill()?;
        self.kill_on_drop = false;
        Ok(())
    }

    pub(super) fn poll_exit(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<ExitStatus>> {
        let process = self.process();
        loop {
            match ready!(process.poll_exit(cx)) {
                // The runtime that started the child has shut down. Move the watch to the current
                // one.
                Err(error) if is_stopped_error(&error) => match try_current_io() {
                    Some(driver) => process.watch.move_to(&driver)?,
                    None => return Poll::Ready(Err(error)),
                },
                exit => return Poll::Ready(exit),
            }
        }
    }
}

impl Drop for RunningChild {
    fn drop(&mut self) {
        if self.kill_on_drop {
            // The kill may fail, for example if the child has changed its user id, or if other code
            // has waited for it.
            let _refused = self.kill();
        }
        if let Some(mut process) = self.process.take() {
            // If the child was waited for already, `std` returns the stored status here.
            if !matches!(process.child.try_wait(), Ok(Some(_))) {
                orphan::reap_in_background(process);
            }
        }
    }
}

impl fmt::Debug for RunningChild {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RunningChild")
            .field("id", &self.process.as_ref().map(|process| process.child.id()))
            .field("kill_on_drop", &self.kill_on_drop)
            .finish_non_exhaustive()
    }
}
