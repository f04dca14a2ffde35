//! `#[main]`, `#[test]`, `select!`, `join!`, `try_join!`, `pin!`.

use std::future::{Future, pending, poll_fn, ready};
use std::task::Poll;
use wakeful::runtime::{Handle, RuntimeFlavor};
use wakeful::task::{consume_budget, yield_now};

/// Returns `value` at poll number `polls`.
async fn after<T>(polls: u32, value: T) -> T {
    for _ in 1..polls {
        yield_now().await;
    }
    value
}

#[wakeful::test]
async fn a_test_runs_on_one_thread_by_default() {
    assert_eq!(Handle::current().runtime_flavor(), RuntimeFlavor::CurrentThread);
}

#[wakeful::test(flavor = "multi_thread", worker_threads = 3, name = "three")]
async fn a_test_may_have_workers_and_a_name() {
    assert_eq!(Handle::current().metrics().num_workers(), 3);
    assert_eq!(Handle::current().name(), Some("three"));
}

#[wakeful::test(flavor = "local")]
async fn a_test_may_be_local() -> Result<(), String> {
    let task = wakeful::task::spawn_local(async { std::rc::Rc::new(1) });
    assert_eq!(*task.await.map_err(|error| error.to_string())?, 1);
    Ok(())
}

#[wakeful::test(start_paused = true)]
async fn a_test_may_start_with_a_paused_clock() {
    let begin = wakeful::time::Instant::now();
    wakeful::time::sleep(std::time::Duration::from_secs(3600)).await;
    assert_eq!(begin.elapsed().as_secs(), 3600);
}

#[wakeful::test(flavor = "current_thread", unhandled_panic = "shutdown_runtime")]
#[should_panic]
async fn a_test_may_end_with_the_panic_of_a_task() {
    wakeful::spawn(async { panic!("a task panics") });
    pending::<()>().await;
}

mod elsewhere {
    pub use wakeful as of_another_name;
}

#[elsewhere::of_another_name::test(crate = "crate::elsewhere::of_another_name")]
async fn the_crate_may_have_another_name() {
    yield_now().await;
}

#[wakeful::main]
async fn on_many_threads(n: u32) -> u32 {
    assert_eq!(Handle::current().runtime_flavor(), RuntimeFlavor::MultiThread);
    wakeful::spawn(async move { n + 1 }).await.unwrap()
}

#[test]
fn main_creates_a_plain_function() {
    assert_eq!(on_many_threads(1), 2);
}

#[wakeful::main(flavor = "current_thread")]
async fn apply<F: Fn(u32) -> u32, T>(f: F, rest: T) -> (u32, T)
where
    T: Clone,
{
    #![allow(clippy::redundant_clone)]
    (f(1), rest.clone())
}

#[wakeful::main]
async fn unnamed() -> impl Iterator<Item = u32> {
    1..3
}

#[wakeful::test]
async fn a_test_may_return_an_unnamed_type() -> impl std::process::Termination {
    std::process::ExitCode::SUCCESS
}

#[test]
fn main_accepts_any_function() {
    assert_eq!(apply(|n| n + 1, "rest"), (2, "rest"));
    assert_eq!(unnamed().collect::<Vec<_>>(), [1, 2]);
}

#[wakeful::test]
async fn select_takes_the_first_that_is_ready() {
    let value = wakeful::select! {
        _ = pending::<()>() => unreachable!(),
        n = after(2, 5) => n,
        n = after(9, 6) => n,
    };
    assert_eq!(value, 5);
}

#[wakeful::test]
async fn select_disables_branches_by_pattern_and_condition() {
    let mut polled = false;
    let value = wakeful::select! {
        Some(n) = ready(None::<u32>) => n,
        n = async { polled = true; 1 }, if false => n,
        Ok::<u32, ()>(n @ 1..=9) = after(3, Ok(7)), if 1 + 1 == 2 => { n }
        else => 0,
    };
    assert_eq!((value, polled), (7, false));
    let none = wakeful::select! {
        Some(n) = ready(None::<u32>) => n,
        else => 42,
    };
    assert_eq!(none, 42);
}

#[wakeful::test]
async fn select_handlers_may_break_return_and_await() {
    async fn inner() -> Option<u32> {
        let mut sum = 0;
        loop {
            wakeful::select! {
                biased;
                n = after(1, 3) => {
                    sum += n;
                    if sum > 5 { break }
                }
                _ = pending::<u32>() => return None,
            }
        }
        let more = wakeful::select! { n = ready(1) => after(2, n).await };
        Some(sum + more)
    }
    assert_eq!(inner().await, Some(7));
}

#[wakeful::test]
async fn select_binds_by_move_reference_and_mutably() {
    let text = wakeful::select! { mut text = ready(String::from("a")) => { text.push('b'); text } };
    assert_eq!(text, "ab");
    let len = wakeful::select! { (ref text, _) = ready((String::from("abc"), 1)) => text.len() };
    assert_eq!(len, 3);
    let mut future = Box::pin(after(2, 1));
    let first = wakeful::select! { biased; n = &mut future => n, n = ready(9) => n };
    assert_eq!((first, future.await), (9, 1));
}

#[wakeful::test]
async fn select_starts_with_a_random_branch_unless_biased() {
    let mut firsts = [0; 3];
    for _ in 0..300 {
        let first = wakeful::select! { _ = ready(()) => 0, _ = ready(()) => 1, _ = ready(()) => 2 };
        firsts[first] += 1;
        assert_eq!(wakeful::select! { biased; _ = ready(()) => 0, _ = ready(()) => 1 }, 0);
    }
    assert!(firsts.iter().all(|&times| times > 30), "{firsts:?}");
}

#[wakeful::test]
async fn select_takes_up_to_64_branches() {
    macro_rules! select_one_of {
        ($wanted:expr, $($branch:literal)*) => {
            wakeful::select! { $(n = ready($branch), if $wanted == $branch => n,)* else => 64 }
        };
    }
    for wanted in [0, 31, 32, 63, 64] {
        let got = select_one_of!(
            wanted,
            0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31
            32 33 34 35 36 37 38 39 40 41 42 43 44 45 46 47 48 49 50 51 52 53 54 55 56 57 58 59
            60 61 62 63
        );
        assert_eq!(got, wanted);
    }
}

#[wakeful::test]
async fn select_does_not_capture_names() {
    const BRANCHES: u32 = 7;
    const COUNT: u32 = 8;
    type Mask = u32;
    let (disabled, start): (Mask, u32) = (1, 2);
    let sum = wakeful::select! {
        (COUNT, ()) = ready((disabled + start, ())) => 0,
        (BRANCHES, ()) = ready((7, ())) => BRANCHES + COUNT + disabled + start,
    };
    assert_eq!(sum, 7 + 8 + 1 + 2);
}

#[test]
fn the_futures_of_the_macros_are_small() {
    let select = async {
        let (a, b, c) = (ready(0), ready(0), ready(0));
        wakeful::select! { _ = a => {}, _ = b => {}, _ = c => {} }
    };
    // Three futures of 8 bytes, two borrows of the closure, a mask and the state.
    assert!(size_of_val(&select) <= 48, "{}", size_of_val(&select));
    let join = async {
        let (a, b) = (ready(0), ready(0));
        wakeful::join!(a, b)
    };
    assert!(size_of_val(&join) <= 48, "{}", size_of_val(&join));
    let try_join = async {
        let (a, b) = (ready(Ok::<i32, i32>(0)), ready(Ok::<i32, i32>(0)));
        wakeful::try_join!(a, b)
    };
    assert!(size_of_val(&try_join) <= 48, "{}", size_of_val(&try_join));
}

#[wakeful::test]
#[should_panic(expected = "all branches are disabled")]
async fn select_panics_when_all_branches_are_disabled() {
    wakeful::select! { Some(()) = ready(None) => {} }
}

#[wakeful::test]
async fn select_yields_when_the_budget_is_used_up() {
    wakeful::spawn(async {
        let mut turns = 0u32;
        let mut work = std::pin::pin!(async {
            for _ in 0..1000 {
                wakeful::select! { _ = consume_budget() => {} }
            }
        });
        poll_fn(|cx| {
            turns += 1;
            work.as_mut().poll(cx)
        })
        .await;
        assert!(turns > 5, "{turns}");
    })
    .await
    .unwrap();
}

#[wakeful::test]
async fn join_waits_for_all_and_keeps_their_order() {
    assert_eq!(wakeful::join!(after(3, 1), async { 2 }, after(2, "three")), (1, 2, "three"));
    assert_eq!(wakeful::join!(biased; ready(1),), (1,));
    wakeful::join!();
    // All futures are polled by one task, and none is always polled first.
    let mut order = Vec::new();
    let order = std::cell::RefCell::new(&mut order);
    let noting = |name: char| {
        let (order, mut left) = (&order, 3);
        poll_fn(move |cx| {
            order.borrow_mut().push(name);
            left -= 1;
            cx.waker().wake_by_ref();
            if left == 0 { Poll::Ready(()) } else { Poll::Pending }
        })
    };
    wakeful::join!(noting('a'), noting('b'));
    assert_eq!(order.into_inner().iter().collect::<String>(), "abbaab");
}

#[wakeful::test]
async fn try_join_ends_with_the_first_error() {
    let all: Result<_, String> = wakeful::try_join!(async { Ok(1) }, after(2, Ok("two")));
    assert_eq!(all, Ok((1, "two")));
    let failed: Result<((), u32), &str> =
        wakeful::try_join!(pending::<Result<(), _>>(), after(3, Err("no")));
    assert_eq!(failed, Err("no"));
}

#[wakeful::test]
async fn pin_makes_a_name_a_pinned_reference() {
    let (a, b) = (after(2, 1), after(3, 2));
    wakeful::pin!(a, b);
    assert_eq!((a.as_mut().await, (&mut b).await), (1, 2));
    wakeful::pin! {
        let c = after(1, 3);
    }
    assert_eq!(c.await, 3);
}
