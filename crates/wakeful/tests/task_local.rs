//! Task-local values are visible only to the code in their scope.

mod support;

use std::cell::{Cell, RefCell};
use std::future::{Future, pending, poll_fn};
use std::panic::AssertUnwindSafe;
use std::pin::{Pin, pin};
use std::sync::{Arc, Barrier, mpsc};
use std::task::{Context, Poll, Waker};
use support::{current_thread, each_flavor, multi_thread, panic_of};
use wakeful::task::{futures::TaskLocalFuture, yield_now};

wakeful::task_local! {
    static NUMBER: u32;
    /// A key with attributes, a visibility and another type.
    #[allow(unused)]
    pub static TEXT: String;
}

fn poll_once<F: Future>(future: Pin<&mut F>) -> Poll<F::Output> {
    future.poll(&mut Context::from_waker(Waker::noop()))
}

/// Returns the message of the panic in `f`, whose location must be in this file.
#[track_caller]
fn panic_text<R>(f: impl FnOnce() -> R) -> String {
    let (text, file) = panic_of(AssertUnwindSafe(|| drop(f())));
    assert_eq!(file, file!(), "the panic points elsewhere: {text}");
    text
}

/// Reports the number in scope when it is polled and when it is dropped.
struct Witness {
    polled: mpsc::Sender<Option<u32>>,
    dropped: mpsc::Sender<Option<u32>>,
    ready: bool,
}

impl Witness {
    fn new(ready: bool) -> (Witness, mpsc::Receiver<Option<u32>>, mpsc::Receiver<Option<u32>>) {
        let ((polled, polls), (dropped, drops)) = (mpsc::channel(), mpsc::channel());
        (Witness { polled, dropped, ready }, polls, drops)
    }
}

impl Future for Witness {
    type Output = ();

    fn poll(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<()> {
        self.polled.send(NUMBER.try_get().ok()).unwrap();
        if self.ready { Poll::Ready(()) } else { Poll::Pending }
    }
}

impl Drop for Witness {
    fn drop(&mut self) {
        self.dropped.send(NUMBER.try_get().ok()).unwrap();
    }
}

#[test]
fn each_task_has_its_own_value_from_poll_to_poll() {
    for runtime in each_flavor() {
        runtime.block_on(async {
            let tasks: Vec<_> = (0..50)
                .map(|n| {
                    wakeful::spawn(NUMBER.scope(n, async move {
                        for _ in 0..20 {
                            assert_eq!(NUMBER.get(), n);
                            yield_now().await;
                        }
                    }))
                })
                .collect();
            for task in tasks {
                task.await.unwrap();
            }
            assert!(NUMBER.try_get().is_err());
        });
    }
}

#[test]
fn a_value_moves_with_its_future_to_another_thread() {
    let mut future = Box::pin(NUMBER.scope(7, async {
        assert_eq!(NUMBER.get(), 7);
        let mut first = true;
        poll_fn(|_| if std::mem::take(&mut first) { Poll::Pending } else { Poll::Ready(()) }).await;
        NUMBER.get()
    }));
    assert!(poll_once(future.as_mut()).is_pending());
    assert!(NUMBER.try_get().is_err());
    let there = std::thread::spawn(move || poll_once(future.as_mut()));
    assert_eq!(there.join().unwrap(), Poll::Ready(7));
}

#[test]
fn an_inner_scope_hides_the_outer_one() {
    current_thread().block_on(NUMBER.scope(1, async {
        let inner = NUMBER.scope(2, async {
            assert_eq!(NUMBER.get(), 2);
            yield_now().await;
            assert_eq!(NUMBER.sync_scope(3, || NUMBER.get()), 3);
            assert_eq!(NUMBER.get(), 2);
        });
        inner.await;
        assert_eq!(NUMBER.get(), 1);
    }));
    assert!(NUMBER.try_get().is_err());
}

#[test]
fn keys_are_independent() {
    current_thread().block_on(NUMBER.scope(1, async {
        assert!(TEXT.try_with(|_| ()).is_err());
        TEXT.scope("one".to_owned(), async {
            assert_eq!(TEXT.with(|text| format!("{text}{}", NUMBER.get())), "one1");
        })
        .await;
    }));
}

#[test]
fn interleaved_futures_keep_their_own_values() {
    async fn sum_up(turns: u32) -> u32 {
        let mut sum = 0;
        for _ in 0..turns {
            sum += NUMBER.get();
            let mut first = true;
            poll_fn(|_| if std::mem::take(&mut first) { Poll::Pending } else { Poll::Ready(()) })
                .await;
        }
        sum
    }
    let mut ones = pin!(NUMBER.scope(1, sum_up(3)));
    let mut tens = pin!(NUMBER.scope(10, sum_up(3)));
    for _ in 0..3 {
        assert!(poll_once(ones.as_mut()).is_pending());
        assert!(poll_once(tens.as_mut()).is_pending());
    }
    assert_eq!(poll_once(tens), Poll::Ready(30));
    assert_eq!(poll_once(ones), Poll::Ready(3));
}

#[test]
fn spawned_tasks_and_threads_do_not_inherit_a_scope() {
    multi_thread(2).block_on(NUMBER.scope(1, async {
        assert!(wakeful::spawn(async { NUMBER.try_get() }).await.unwrap().is_err());
        let blocking = wakeful::task::spawn_blocking(|| NUMBER.try_get());
        assert!(blocking.await.unwrap().is_err());
    }));
}

#[test]
fn a_panic_leaves_the_scope() {
    let text = panic_text(|| NUMBER.sync_scope(1, || panic!("on purpose")));
    assert_eq!(text, "on purpose");
    assert!(NUMBER.try_get().is_err());

    NUMBER.sync_scope(1, || {
        let mut future = Box::pin(NUMBER.scope(2, async {
            assert_eq!(NUMBER.get(), 2);
            panic!("on purpose")
        }));
        assert_eq!(panic_text(|| poll_once(future.as_mut())), "on purpose");
        assert_eq!(NUMBER.get(), 1);
        assert_eq!(future.as_mut().take_value(), Some(2));
    });

    current_thread().block_on(async {
        let task = wakeful::spawn(NUMBER.scope(3, async { panic!("on purpose") }));
        assert!(task.await.unwrap_err().is_panic());
        assert!(NUMBER.try_get().is_err());
    });
}

#[test]
fn without_a_value_there_is_an_error_or_a_panic() {
    let error = NUMBER.try_with(|_| ()).unwrap_err();
    assert_eq!(error, NUMBER.try_get().unwrap_err());
    assert_eq!(error.to_string(), "task-local value not set");
    assert_eq!(format!("{error:?}"), "AccessError");
    for text in [panic_text(|| NUMBER.with(|_| ())), panic_text(|| NUMBER.get())] {
        assert!(text.contains("cannot access a task-local storage value"), "{text}");
        assert!(text.contains("`sync_scope`"), "{text}");
    }
}

#[test]
fn with_can_be_nested() {
    NUMBER.sync_scope(5, || {
        let sum = NUMBER.with(|outer| NUMBER.with(|inner| outer + inner) + NUMBER.get());
        assert_eq!(sum, 15);
    });
}

#[test]
fn entering_a_scope_inside_with_panics() {
    NUMBER.sync_scope(1, || {
        NUMBER.with(|_| {
            let text = panic_text(|| NUMBER.sync_scope(2, || ()));
            assert!(text.contains("while the task-local storage is borrowed"), "{text}");
            let mut future = Box::pin(NUMBER.scope(2, async {}));
            let text = panic_text(|| poll_once(future.as_mut()));
            assert!(text.contains("while the task-local storage is borrowed"), "{text}");
            assert_eq!(future.as_mut().take_value(), Some(2));
        });
        assert_eq!(NUMBER.get(), 1);
    });
}

#[test]
fn a_future_dropped_inside_with_has_no_value_in_scope() {
    let (witness, _polls, drops) = Witness::new(false);
    NUMBER.sync_scope(1, || NUMBER.with(|_| drop(NUMBER.scope(2, witness))));
    assert_eq!(drops.recv(), Ok(Some(1)));
}

#[test]
fn the_value_is_in_scope_while_an_aborted_future_is_dropped() {
    for runtime in each_flavor() {
        let (witness, polls, drops) = Witness::new(false);
        runtime.block_on(async {
            let task = wakeful::spawn(NUMBER.scope(42, witness));
            while polls.try_recv().is_err() {
                yield_now().await;
            }
            task.abort();
            assert!(task.await.unwrap_err().is_cancelled());
        });
        assert_eq!(drops.try_recv(), Ok(Some(42)));
    }
}

#[test]
fn the_value_is_in_scope_while_an_ended_future_is_dropped() {
    let (witness, polls, drops) = Witness::new(true);
    let mut future = Box::pin(NUMBER.scope(42, witness));
    assert!(poll_once(future.as_mut()).is_ready());
    assert_eq!((polls.try_recv(), drops.try_recv()), (Ok(Some(42)), Ok(Some(42))));
    drop(future);
    assert!(drops.try_recv().is_err(), "dropped once");
}

#[test]
fn the_value_is_in_scope_while_a_future_is_dropped_unpolled() {
    let (witness, _polls, drops) = Witness::new(false);
    NUMBER.sync_scope(1, || {
        drop(NUMBER.scope(2, NUMBER.scope(3, witness)));
        assert_eq!(NUMBER.get(), 1);
    });
    assert_eq!(drops.try_recv(), Ok(Some(3)));
}

#[test]
fn the_value_is_in_scope_while_a_runtime_drops_its_tasks() {
    for runtime in each_flavor() {
        let (witness, polls, drops) = Witness::new(false);
        runtime.block_on(async {
            wakeful::spawn(NUMBER.scope(42, witness));
            while polls.try_recv().is_err() {
                yield_now().await;
            }
        });
        drop(runtime);
        assert_eq!(drops.try_recv(), Ok(Some(42)));
    }
}

#[test]
fn a_panic_in_a_futures_destructor_leaves_the_scope() {
    struct Bomb;
    impl Drop for Bomb {
        fn drop(&mut self) {
            assert_eq!(NUMBER.get(), 2);
            panic!("on purpose");
        }
    }
    let value_alive = Arc::new(());
    wakeful::task_local! { static ALIVE: Arc<()> }
    NUMBER.sync_scope(1, || {
        let bomb = Bomb;
        let armed = async move {
            let _bomb = bomb;
            pending::<()>().await
        };
        let future = NUMBER.scope(2, ALIVE.scope(value_alive.clone(), armed));
        assert_eq!(panic_text(|| drop(future)), "on purpose");
        assert_eq!(NUMBER.get(), 1);
    });
    assert_eq!(Arc::strong_count(&value_alive), 1);
}

#[test]
fn the_value_lives_as_long_as_its_future() {
    wakeful::task_local! { static TOKEN: Arc<()> }
    let token = Arc::new(());
    let mut future = Box::pin(TOKEN.scope(token.clone(), async {
        assert_eq!(TOKEN.with(Arc::strong_count), 2);
    }));
    assert!(poll_once(future.as_mut()).is_ready());
    assert_eq!(Arc::strong_count(&token), 2);
    drop(future);
    assert_eq!(Arc::strong_count(&token), 1);
    TOKEN.sync_scope(token.clone(), || assert_eq!(Arc::strong_count(&token), 2));
    assert_eq!(Arc::strong_count(&token), 1);
}

#[test]
fn take_value_removes_the_value() {
    let mut future = Box::pin(NUMBER.scope(1, async { NUMBER.try_get() }));
    assert_eq!(format!("{future:?}"), "TaskLocalFuture { value: 1 }");
    assert_eq!(future.as_mut().take_value(), Some(1));
    assert_eq!(future.as_mut().take_value(), None);
    assert_eq!(format!("{future:?}"), "TaskLocalFuture { value: <missing> }");
    // The future then runs without a value, even inside an outer scope.
    let polled = NUMBER.sync_scope(5, || poll_once(future.as_mut()));
    assert!(matches!(polled, Poll::Ready(Err(_))));

    wakeful::task_local! { static COUNT: Cell<u32> }
    let count = async { COUNT.with(|count| count.set(count.get() + 1)) };
    let mut future = Box::pin(COUNT.scope(Cell::new(0), count));
    assert!(poll_once(future.as_mut()).is_ready());
    assert_eq!(future.as_mut().take_value().map(Cell::into_inner), Some(1));
}

#[test]
fn polling_an_ended_future_panics() {
    let mut future = Box::pin(NUMBER.scope(1, async {}));
    assert!(poll_once(future.as_mut()).is_ready());
    let text = panic_text(|| poll_once(future.as_mut()));
    assert!(text.contains("`TaskLocalFuture` polled after completion"), "{text}");
    assert!(NUMBER.try_get().is_err());
    assert_eq!(future.as_mut().take_value(), Some(1));
}

#[test]
fn keys_are_declared_as_statics_are() {
    mod inner {
        wakeful::task_local! {
            pub(super) static SEEN: &'static str;
            pub static BOXED: Box<dyn Fn(u32) -> u32>
        }
        wakeful::task_local! {}
    }
    inner::SEEN.sync_scope("yes", || assert_eq!(inner::SEEN.get(), "yes"));
    inner::BOXED.sync_scope(Box::new(|n| n + 1), || {
        assert_eq!(inner::BOXED.with(|add| add(1)), 2);
    });
    assert_eq!(format!("{NUMBER:?}"), "LocalKey { .. }");
}

#[test]
fn concurrent_threads_see_their_own_values() {
    let barrier = Arc::new(Barrier::new(4));
    let threads: Vec<_> = (0..4)
        .map(|n| {
            let barrier = barrier.clone();
            std::thread::spawn(move || {
                NUMBER.sync_scope(n, || {
                    barrier.wait();
                    assert_eq!(NUMBER.get(), n);
                    barrier.wait();
                });
            })
        })
        .collect();
    for thread in threads {
        thread.join().unwrap();
    }
}

#[test]
fn thread_local_destructors_run_outside_any_scope() {
    wakeful::task_local! { static NEEDS_DROP: String }
    struct AtEnd(mpsc::Sender<bool>, Option<Pin<Box<dyn Future<Output = ()>>>>);
    impl Drop for AtEnd {
        fn drop(&mut self) {
            let found = NEEDS_DROP.try_with(|_| ()).is_ok();
            // A future whose scope can no longer be entered is still dropped.
            self.1 = None;
            self.0.send(found).unwrap();
        }
    }
    std::thread_local! {
        static AT_END: RefCell<Option<AtEnd>> = const { RefCell::new(None) };
    }
    let (report, reports) = mpsc::channel();
    std::thread::spawn(move || {
        let text = "dropped".to_owned();
        let future = NEEDS_DROP.scope("value".to_owned(), async { drop(text) });
        AT_END.set(Some(AtEnd(report, Some(Box::pin(future)))));
        // Initialized after `AT_END`, so that its destructor runs first.
        NEEDS_DROP.sync_scope(String::new(), || ());
    })
    .join()
    .unwrap();
    assert_eq!(reports.recv(), Ok(false));
}

#[test]
fn the_future_of_a_scope_can_be_named_and_sent() {
    fn assert_send_sync<F: Send + Sync>(future: F) -> F {
        future
    }
    let future: TaskLocalFuture<u32, _> = assert_send_sync(NUMBER.scope(1, async {}));
    current_thread().block_on(future);
}
