//! The last stalls of the process, kept while tasks are recorded.

use super::Stall;
use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};
use std::time::Instant;
use wakeful_task::recording;

/// How many stalls are kept.
const RECENT_MAX: usize = 100;

/// A stall that was seen while tasks were recorded.
#[derive(Debug, Clone)]
pub(crate) struct RecentStall {
    /// When it was reported.
    pub(crate) at: Instant,
    /// The id of the runtime.
    pub(crate) runtime: u64,
    pub(crate) stall: Stall,
}

/// The oldest first.
static RECENT: Mutex<VecDeque<RecentStall>> = Mutex::new(VecDeque::new());

/// Keeps a stall. Called by the monitor of a runtime, if tasks are recorded.
pub(super) fn note(runtime: u64, stall: Stall) {
    let mut recent = RECENT.lock().unwrap_or_else(PoisonError::into_inner);
    if recent.len() == RECENT_MAX {
        recent.pop_front();
    }
    recent.push_back(RecentStall { at: Instant::now(), runtime, stall });
}

/// Returns the last stalls since recording began, the newest first.
pub(crate) fn recent_stalls() -> Vec<RecentStall> {
    let Some(since) = recording::since() else { return Vec::new() };
    let recent = RECENT.lock().unwrap_or_else(PoisonError::into_inner);
    recent.iter().rev().take_while(|recent| recent.at >= since).cloned().collect()
}
