//! Panics of user code: where they are reported, and that nothing is dropped twice or leaked.

use super::home::{ENDINGS, RunResult, TestHome};
use super::probes::{Gate, Tally, Token, now, quiet_panic};
use crate::{JoinError, Outcome};
use std::future::{Future, poll_fn};
use std::io;
use std::pin::Pin;
use std::sync::mpsc;
use std::task::{Context, Poll};
use std::thread;

/// A future that does `last` in its poll, and owns `token`.
struct Ends<T> {
    last: Option<Box<dyn FnOnce() -> T + Send>>,
    _token: Token,
}

impl<T> Ends<T> {
    fn new(token: Token, last: impl FnOnce() -> T + Send + 'static) -> Self {
        Ends { last: Some(Box::new(last)), _token: token }
    }
}

impl<T> Future for Ends<T> {
    type Output = T;

    fn poll(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<T> {
        Poll::Ready(self.last.take().expect("polled after its end")())
    }
}

#[track_caller]
fn text_of(error: JoinError) -> &'static str {
    *error.into_panic().downcast::<&str>().expect("a text")
}

#[test]
fn a_panic_in_the_poll_is_reported_to_the_join_handle() {
    for ending in ENDINGS {
        let (home, futures) = (TestHome::new(), Tally::default());
        let (runnable, join) = home.task(Ends::<()>::new(futures.token(), || quiet_panic("poll")));
        assert_eq!(home.run(runnable, ending), RunResult::Ended(Outcome::Panic));
        assert_eq!(futures.dropped(), 1);
        let id = join.id();
        let error = now(join).unwrap_err();
        assert!(error.is_panic() && !error.is_cancelled() && error.id() == id);
        assert_eq!(text_of(error), "poll");
        home.assert_all_freed();
    }
}

#[test]
fn a_panic_in_the_poll_of_a_detached_task_is_dropped() {
    for ending in ENDINGS {
        let (home, futures, payloads) = (TestHome::new(), Tally::default(), Tally::default());
        let payload = payloads.token();
        let future = Ends::<()>::new(futures.token(), || quiet_panic(payload));
        let (runnable, join) = home.task(future);
        drop(join);
        assert_eq!(home.run(runnable, ending), RunResult::Ended(Outcome::Panic));
        assert_eq!((futures.dropped(), payloads.dropped()), (1, 1));
        home.assert_all_freed();
    }
}

#[test]
fn a_panic_in_the_drop_of_a_ready_future_takes_the_place_of_its_output() {
    for ending in ENDINGS {
        for panics in [false, true] {
            let (home, futures, outputs) = (TestHome::new(), Tally::default(), Tally::default());
            let output = if panics { outputs.panicking_token() } else { outputs.token() };
            let (runnable, join) = home.task(Ends::new(futures.panicking_token(), || output));
            assert_eq!(home.run(runnable, ending), RunResult::Ended(Outcome::Panic));
            assert_eq!((futures.dropped(), outputs.dropped()), (1, 1));
            assert_eq!(text_of(now(join).err().unwrap()), "the drop of a token panics");
            home.assert_all_freed();
        }
    }
}

#[test]
fn the_first_of_two_panics_is_reported() {
    // A second panic's payload is leaked by design, which Miri would report.
    for second_panics in [false, !cfg!(miri)] {
        let (home, futures, seconds) = (TestHome::new(), Tally::default(), Tally::default());
        let payload = if second_panics { seconds.panicking_token() } else { seconds.token() };

        struct PanicsInDrop(Option<Token>);
        impl Drop for PanicsInDrop {
            fn drop(&mut self) {
                quiet_panic(self.0.take());
            }
        }
        let (token, guard) = (futures.token(), PanicsInDrop(Some(payload)));
        let mut future = Ends::<()>::new(token, || quiet_panic("first"));
        let join = home.spawn(poll_fn(move |cx| {
            let _owned_by_the_future = &guard;
            Pin::new(&mut future).poll(cx)
        }));
        assert_eq!(home.run_one(), RunResult::Ended(Outcome::Panic));
        assert_eq!((futures.dropped(), seconds.dropped()), (1, 1));
        assert_eq!(text_of(now(join).unwrap_err()), "first");
        home.assert_all_freed();
    }
}

#[test]
fn a_future_is_dropped_while_the_panic_of_its_poll_is_under_way_and_not_otherwise() {
    struct Asks(mpsc::Sender<bool>);
    impl Drop for Asks {
        fn drop(&mut self) {
            self.0.send(thread::panicking()).unwrap();
        }
    }
    for panics in [false, true] {
        let (home, (tell, told)) = (TestHome::new(), mpsc::channel());
        let guard = Asks(tell);
        let join = home.spawn(poll_fn(move |_| {
            let _owned_by_the_future = &guard;
            if panics { quiet_panic("poll") } else { Poll::Ready(()) }
        }));
        home.run_one();
        assert_eq!(told.try_iter().collect::<Vec<_>>(), [panics], "once");
        assert!(!thread::panicking() && now(join).is_err() == panics);
        home.assert_all_freed();
    }
}

#[test]
fn a_panic_in_the_drop_of_an_aborted_future_is_reported_to_the_join_handle() {
    for ending in ENDINGS {
        let (home, gate, futures) = (TestHome::new(), Gate::default(), Tally::default());
        let join = home.spawn(gate.then(futures.panicking_token()));
        home.run_one();
        join.abort();
        assert_eq!(home.run(home.pop().unwrap(), ending), RunResult::Ended(Outcome::Panic));
        assert_eq!(futures.dropped(), 1);
        assert_eq!(text_of(now(join).err().unwrap()), "the drop of a token panics");
        drop(gate);
        home.assert_all_freed();
    }
}

#[test]
fn a_panic_in_the_drop_of_an_output_is_contained() {
    for ending in ENDINGS {
        for joined in [false, true] {
            let (home, outputs) = (TestHome::new(), Tally::default());
            let output = outputs.panicking_token();
            let (runnable, join) = home.task(async { output });
            let join = joined.then_some(join);
            assert_eq!(home.run(runnable, ending), RunResult::Ended(Outcome::Value));
            assert_eq!(outputs.dropped(), usize::from(!joined));
            drop(join);
            assert_eq!(outputs.dropped(), 1);
            home.assert_all_freed();
        }
    }
}

#[test]
fn a_panic_in_the_drop_of_a_payload_is_contained() {
    for ending in ENDINGS {
        for joined in [false, true] {
            let (home, payloads) = (TestHome::new(), Tally::default());
            let payload = payloads.panicking_token();
            let (runnable, join) = home.task(async { quiet_panic(payload) });
            let join = joined.then_some(join);
            assert_eq!(home.run(runnable, ending), RunResult::Ended(Outcome::Panic));
            assert_eq!(payloads.dropped(), usize::from(!joined));
            drop(join);
            assert_eq!(payloads.dropped(), 1);
            home.assert_all_freed();
        }
    }
}

#[test]
#[cfg_attr(miri, ignore = "leaks by design")]
fn a_payload_whose_drop_panics_with_another_such_payload_is_leaked() {
    struct Matryoshka(Tally, u32);
    impl Drop for Matryoshka {
        fn drop(&mut self) {
            drop(self.0.token());
            if let Some(left) = self.1.checked_sub(1) {
                quiet_panic(Matryoshka(self.0.clone(), left));
            }
        }
    }
    let (home, drops) = (TestHome::new(), Tally::default());
    let payload = Matryoshka(drops.clone(), 5);
    drop(home.spawn(async { quiet_panic(payload) }));
    assert_eq!(home.run_one(), RunResult::Ended(Outcome::Panic));
    assert_eq!(drops.dropped(), 2, "the payload and what its drop threw, no further");
    home.assert_all_freed();
}

#[test]
fn an_error_says_what_happened() {
    let home = TestHome::new();
    let error_of = |what: fn()| {
        let join = home.spawn(async move { what() });
        home.run_all();
        now(join).unwrap_err()
    };
    let text = error_of(|| quiet_panic("boom"));
    let owned = error_of(|| quiet_panic(String::from("crash")));
    let number = error_of(|| quiet_panic(7u8));
    let join = home.spawn(async {});
    join.abort();
    home.run_all();
    let cancelled = now(join).unwrap_err();

    let id = text.id();
    assert_eq!(text.to_string(), format!("task {id} panicked with message \"boom\""));
    assert_eq!(format!("{text:?}"), format!("JoinError::Panic({id:?}, \"boom\", ...)"));
    assert!(owned.to_string().ends_with("panicked with message \"crash\""));
    let id = number.id();
    assert_eq!(number.to_string(), format!("task {id} panicked"));
    assert_eq!(format!("{number:?}"), format!("JoinError::Panic({id:?}, ...)"));
    let id = cancelled.id();
    assert_eq!(cancelled.to_string(), format!("task {id} was cancelled"));
    assert_eq!(format!("{cancelled:?}"), format!("JoinError::Cancelled({id:?})"));

    assert_eq!(*number.try_into_panic().unwrap().downcast::<u8>().unwrap(), 7);
    let cancelled = cancelled.try_into_panic().unwrap_err();
    assert_eq!(io::Error::from(cancelled).to_string(), "task was cancelled");
    assert_eq!(io::Error::from(text).to_string(), "task panicked");
    home.assert_all_freed();
}
