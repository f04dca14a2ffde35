use super::*;
use crate::budget::{poll_has_remaining, poll_proceed, poll_traced, with_unconstrained};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::task::{Context, Poll, Waker};

/// A leaf that is ready.
fn leaf() -> Poll<()> {
    poll_proceed(&mut Context::from_waker(Waker::noop())).map(|unit| unit.made_progress())
}

#[test]
fn each_leaf_calls_back_and_yields() {
    let mut leaves = 0;
    let polled = trace_with(
        || [leaf(), poll_traced(&mut Context::from_waker(Waker::noop()))],
        |_| leaves += 1,
    );
    assert_eq!(polled, [Poll::Pending; 2]);
    assert_eq!(leaves, 2);
    assert!(leaf().is_ready());
    assert!(poll_traced(&mut Context::from_waker(Waker::noop())).is_ready());
    assert_eq!(leaves, 2);
}

#[test]
fn a_select_is_no_leaf() {
    let select = || poll_has_remaining(&mut Context::from_waker(Waker::noop()));
    assert!(trace_with(select, |_| panic!("no leaf")).is_ready());
}

#[test]
fn a_future_with_its_own_budget_goes_on() {
    let polled = trace_with(|| with_unconstrained(leaf), |_| panic!("it is not traced"));
    assert!(polled.is_ready());
}

#[test]
fn the_callback_is_not_traced_itself() {
    let mut inner = Vec::new();
    let polled = trace_with(leaf, |_| inner.push((is_tracing(), leaf())));
    assert!(polled.is_pending());
    // It has no budget either, but its leaf does not call back.
    assert_eq!(inner, [(false, Poll::Pending)]);
}

#[test]
fn calls_may_be_nested() {
    let (mut outer, mut inner) = (0, 0);
    trace_with(
        || {
            let _ = leaf();
            let _ = trace_with(leaf, |_| inner += 1);
            assert!(is_tracing());
            let _ = leaf();
        },
        |_| outer += 1,
    );
    assert_eq!((outer, inner), (2, 1));
}

#[test]
fn a_panic_ends_the_tracing() {
    let poll = || trace_with(leaf, |_| panic!("boom"));
    assert!(catch_unwind(AssertUnwindSafe(poll)).is_err());
    let poll = || trace_with(|| panic!("boom"), |_| {});
    assert!(catch_unwind(AssertUnwindSafe(poll)).is_err());
    assert!(!is_tracing());
    assert!(leaf().is_ready());
}

#[test]
fn the_innermost_root_counts() {
    let mut roots = Vec::new();
    let at = |address: usize| ptr::without_provenance::<c_void>(address);
    trace_with(
        || {
            let _ = leaf();
            let outer = enter_root(at(8));
            let _ = leaf();
            let inner = enter_root(at(16));
            let _ = leaf();
            drop(inner);
            let _ = leaf();
            drop(outer);
        },
        |meta| roots.push(meta.root_addr),
    );
    assert_eq!(roots, [None, Some(at(8)), Some(at(16)), Some(at(8))]);
}
