use super::subject::sync::Notify;
use super::subject::task::coop::has_budget_remaining;
use super::subject::task::{AbortHandle, consume_budget};
use super::subject::time::sleep;
use crate::events::{What, happened};
use crate::lengths::short_length;
use std::future::{pending, poll_fn};
use std::panic::resume_unwind;
use std::sync::{Arc, Mutex};
use std::task::Poll;

/// State that the tasks of a script share.
#[derive(Default)]
pub struct Shared {
    signals: [Notify; 3],
    handles: Mutex<Vec<AbortHandle>>,
}

impl Shared {
    pub fn signal(&self, which: u8) -> &Notify {
        &self.signals[usize::from(which) % self.signals.len()]
    }

    pub fn add_handle(&self, handle: AbortHandle) {
        self.handles.lock().expect("no holder panics").push(handle);
    }

    pub fn abort(&self, which: u8) {
        let handles = self.handles.lock().expect("no holder panics");
        let handle = handles.get(usize::from(which) % handles.len().max(1)).cloned();
        drop(handles);
        handle.into_iter().for_each(|handle| handle.abort());
    }

    /// Returns which of the tasks have ended.
    pub fn finished(&self) -> Vec<bool> {
        let handles = self.handles.lock().expect("no holder panics");
        handles.iter().map(AbortHandle::is_finished).collect()
    }
}

/// The output of a task.
#[derive(Debug, Hash)]
pub struct Output(u32);

impl Drop for Output {
    fn drop(&mut self) {
        happened(self.0, What::OutputDropped, 0);
    }
}

/// Records the drop of a task's future, and then may abort a task or panic.
struct Dropped {
    task: u32,
    shared: Arc<Shared>,
    aborts: Option<u8>,
    panics: bool,
}

impl Drop for Dropped {
    fn drop(&mut self) {
        happened(self.task, What::Dropped, 0);
        self.aborts.into_iter().for_each(|which| self.shared.abort(which));
        if self.panics && !std::thread::panicking() {
            resume_unwind(Box::new("on purpose"));
        }
    }
}

/// Wakes its own task and is pending once. `yield_now` would not do: Tokio reverses the order of
/// tasks that yield at the same time, and neither library promises the order of tasks
/// (docs/08-differences.md).
async fn wait_for_turn() {
    let mut is_woken = false;
    poll_fn(|cx| {
        if std::mem::replace(&mut is_woken, true) {
            return Poll::Ready(());
        }
        cx.waker().wake_by_ref();
        Poll::Pending
    })
    .await;
}

/// Uses up the budget of this poll, in at most 1,000 units. Returns how many.
async fn use_budget() -> u64 {
    let mut count = 0;
    while count < 1000 && has_budget_remaining() {
        consume_budget().await;
        count += 1;
    }
    count
}

/// The future of a task, of one of several kinds.
pub async fn child(task: u32, shared: Arc<Shared>, kind: u8, count: u8) -> Output {
    happened(task, What::Started, 0);
    let kind = kind % 12;
    let aborts = (kind == 10).then_some(count);
    let _dropped = Dropped { task, shared: shared.clone(), aborts, panics: kind == 11 };
    let few = u64::from(count % 4);
    match kind {
        1 | 11 => {
            for step in 0..few {
                wait_for_turn().await;
                happened(task, What::Continues, step);
            }
        }
        2 | 10 => shared.signal(count).notified().await,
        3 => sleep(short_length(count)).await,
        4 => {
            for _ in 0..few {
                wait_for_turn().await;
            }
            resume_unwind(Box::new("on purpose"));
        }
        5 => pending().await,
        6 => {
            for _ in 0..few {
                happened(task, What::Continues, use_budget().await);
                wait_for_turn().await;
            }
        }
        7 => shared.abort(count),
        9 => shared.signal(count).notify_one(),
        _ => {}
    }
    happened(task, What::Ended, 0);
    Output(task)
}
