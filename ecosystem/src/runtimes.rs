//! Runs tests on both kinds of runtime, with a time limit.

use std::future::Future;
use std::panic;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;

use tokio::runtime::{Builder, Runtime};

/// Long enough for a busy machine.
const LIMIT: Duration = Duration::from_secs(120);

/// Runs `test` on a multi-thread runtime.
pub fn on_multi_thread<F: Future<Output = ()> + 'static>(test: fn() -> F) {
    within_limit(move || run(Builder::new_multi_thread().worker_threads(4), test));
}

/// Runs `test` on a current-thread runtime.
pub fn on_current_thread<F: Future<Output = ()> + 'static>(test: fn() -> F) {
    within_limit(move || run(&mut Builder::new_current_thread(), test));
}

/// Defines a `#[test]` for each kind of runtime from every `async fn` in the list.
#[macro_export]
macro_rules! on_each_runtime {
    ($($test:ident),* $(,)?) => {
        mod multi_thread {
            $(#[test] fn $test() { $crate::on_multi_thread(super::$test); })*
        }
        mod current_thread {
            $(#[test] fn $test() { $crate::on_current_thread(super::$test); })*
        }
    };
}

/// Runs a test. The runtime is dropped with all tasks that the test left.
fn run<F: Future<Output = ()>>(builder: &mut Builder, test: fn() -> F) {
    let runtime: Runtime = builder.enable_all().build().expect("cannot build a runtime");
    runtime.block_on(test());
}

/// Runs a test with a time limit. A thread outside the runtime watches the limit, because the
/// runtime may be what hangs.
pub fn within_limit(test: impl FnOnce() + Send + 'static) {
    let (done, is_done) = channel::<()>();
    let test = thread::spawn(move || {
        let _done_even_if_it_panics = done;
        test();
    });
    match is_done.recv_timeout(LIMIT) {
        Err(RecvTimeoutError::Timeout) => panic!("not finished after {LIMIT:?}"),
        _ => test.join().unwrap_or_else(|why| panic::resume_unwind(why)),
    }
}
