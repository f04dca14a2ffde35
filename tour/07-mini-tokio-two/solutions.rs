//! Solutions to the exercises of step 7. `SOLUTIONS.md` explains them.
//!
//! 第 7 步练习的答案，讲解见 `SOLUTIONS.zh-CN.md`。

use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};

use super::{MiniTokio, Report, Spawner, queues};
use crate::timeline::{Event, Timeline};

/// Where the output waits for the handle, and the handle's task for the output.
enum Outcome<T> {
    NotYet(Option<Waker>),
    Output(T),
    Taken,
    /// The task was dropped, or panicked, before it had an output.
    Lost,
}

struct JoinHandle<T> {
    outcome: Arc<Mutex<Outcome<T>>>,
}

/// Goes with the future. Its drop says that no output will come, unless one is there.
struct Reports<T>(Arc<Mutex<Outcome<T>>>);

impl<T> Reports<T> {
    fn set(&self, new: Outcome<T>) {
        let mut outcome = self.0.lock().unwrap();
        let Outcome::NotYet(waker) = &mut *outcome else { return };
        let waker = waker.take();
        *outcome = new;
        // Without the lock, as always: a waker is code of another executor.
        drop(outcome);
        waker.into_iter().for_each(Waker::wake);
    }
}

impl<T> Drop for Reports<T> {
    fn drop(&mut self) {
        self.set(Outcome::Lost);
    }
}

impl Spawner {
    /// Makes a task of `future`, and returns a handle for its output.
    fn spawn_with_handle<F>(&self, name: &str, future: F) -> JoinHandle<F::Output>
    where
        F: Future<Output: Send + 'static> + Send + 'static,
    {
        let outcome = Arc::new(Mutex::new(Outcome::NotYet(None)));
        let reports = Reports(outcome.clone());
        self.spawn(name, async move { reports.set(Outcome::Output(future.await)) });
        JoinHandle { outcome }
    }
}

impl<T> Future for JoinHandle<T> {
    /// None: the task has ended without an output.
    type Output = Option<T>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<T>> {
        let mut outcome = self.outcome.lock().unwrap();
        if let Outcome::NotYet(waker) = &mut *outcome {
            *waker = Some(cx.waker().clone());
            return Poll::Pending;
        }
        match std::mem::replace(&mut *outcome, Outcome::Taken) {
            Outcome::Output(output) => Poll::Ready(Some(output)),
            Outcome::Lost => Poll::Ready(None),
            Outcome::NotYet(_) | Outcome::Taken => panic!("polled after it had completed"),
        }
    }
}

/// What a task gets that awaits the handle of a task with this future.
fn joined<F>(future: F) -> (Vec<String>, Report)
where
    F: Future<Output = u32> + Send + 'static,
{
    let timeline = Timeline::new();
    let mini_tokio = MiniTokio::new(&timeline, queues::std_mpsc());
    let spawner = mini_tokio.spawner();
    let record = timeline.clone();
    mini_tokio.spawner().spawn("parent", async move {
        let child = spawner.spawn_with_handle("child", future);
        drop(spawner);
        record.note("parent", format!("joins {:?}", child.await));
    });
    let report = mini_tokio.run();
    assert_eq!(timeline.count("parent", &Event::Polled), 2, "woken once, by the child");
    (timeline.story_of("parent"), report)
}

#[test]
fn a_handle_gives_the_output() {
    let (story, report) = joined(async { 7 });
    assert!(story.contains(&"joins Some(7)".to_owned()), "{story:?}");
    assert_eq!(report.completed, 2);
}

#[test]
fn a_handle_of_a_task_that_panics_gives_none() {
    let (story, report) = joined(async { panic!("dropped the cup") });
    assert!(story.contains(&"joins None".to_owned()), "{story:?}");
    assert_eq!(report.panicked, 1);
}

#[test]
fn a_handle_of_a_task_that_cannot_be_woken_gives_none() {
    let (story, _) = joined(std::future::pending());
    assert!(story.contains(&"joins None".to_owned()), "{story:?}");
}
