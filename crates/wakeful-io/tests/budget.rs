//! Streams that are always ready yield once the task's budget is used up.

mod support;

use std::future::Future;
use std::pin::pin;
use std::task::{Context, Waker};

use support::{Scripted, Step, WakeCount};
use wakeful_base::budget;
use wakeful_io::{
    AsyncBufReadExt, AsyncReadExt, AsyncSeekExt, AsyncWriteExt, BufReader, SimplexStream, copy,
    copy_bidirectional, copy_buf, duplex, empty, repeat, sink,
};

/// Counts how often `again` is ready in one poll of a task. Asserts that the task is woken if the
/// budget ended the loop.
fn ready_in_one_poll(mut again: impl FnMut(&mut Context<'_>) -> bool) -> usize {
    let (woken, waker) = WakeCount::new();
    let cx = &mut Context::from_waker(&waker);
    budget::with_initial(|| {
        let rounds = (0..1000).take_while(|_| again(cx)).count();
        assert_eq!(woken.get(), usize::from(rounds < 1000));
        rounds
    })
}

fn is_ready<F: Future>(cx: &mut Context<'_>, future: F) -> bool {
    pin!(future).poll(cx).is_ready()
}

#[test]
fn trivial_streams_consume_budget_in_each_call() {
    assert_eq!(ready_in_one_poll(|cx| is_ready(cx, empty().read(&mut [0; 4]))), 128);
    assert_eq!(ready_in_one_poll(|cx| is_ready(cx, empty().fill_buf())), 128);
    assert_eq!(ready_in_one_poll(|cx| is_ready(cx, empty().write(b"abc"))), 128);
    assert_eq!(ready_in_one_poll(|cx| is_ready(cx, empty().write_vectored(&[]))), 128);
    assert_eq!(ready_in_one_poll(|cx| is_ready(cx, empty().flush())), 128);
    assert_eq!(ready_in_one_poll(|cx| is_ready(cx, empty().shutdown())), 128);
    // Two units per call: a seek first waits for an earlier one to complete.
    assert_eq!(ready_in_one_poll(|cx| is_ready(cx, empty().rewind())), 64);
    assert_eq!(ready_in_one_poll(|cx| is_ready(cx, repeat(1).read(&mut [0; 4]))), 128);
    assert_eq!(ready_in_one_poll(|cx| is_ready(cx, sink().write(b"abc"))), 128);
    assert_eq!(ready_in_one_poll(|cx| is_ready(cx, sink().write_vectored(&[]))), 128);
    assert_eq!(ready_in_one_poll(|cx| is_ready(cx, sink().flush())), 128);
    assert_eq!(ready_in_one_poll(|cx| is_ready(cx, sink().shutdown())), 128);
}

#[test]
fn pipes_consume_budget_in_each_read_and_write() {
    let (mut near, mut far) = duplex(1000);
    assert_eq!(ready_in_one_poll(|cx| is_ready(cx, near.write(b"x"))), 128);
    assert_eq!(ready_in_one_poll(|cx| is_ready(cx, far.read(&mut [0]))), 128);
    let mut pipe = SimplexStream::new_unsplit(1000);
    assert_eq!(ready_in_one_poll(|cx| is_ready(cx, pipe.write(b"x"))), 128);
    assert_eq!(ready_in_one_poll(|cx| is_ready(cx, pipe.read(&mut [0]))), 128);
}

#[test]
fn pending_calls_consume_no_budget() {
    let (mut near, _far) = duplex(1);
    let cx = &mut Context::from_waker(Waker::noop());
    budget::with_initial(|| {
        for _ in 0..1000 {
            assert!(pin!(near.read(&mut [0; 1])).poll(cx).is_pending());
            assert!(pin!(copy(&mut near, &mut sink())).poll(cx).is_pending());
            assert!(pin!(copy_bidirectional(&mut near, &mut duplex(1).0)).poll(cx).is_pending());
        }
        assert!(budget::has_remaining());
    });
}

#[test]
fn a_copy_consumes_one_unit_per_poll() {
    let copy = |cx: &mut Context<'_>| is_ready(cx, copy(&mut &b"abc"[..], &mut Vec::new()));
    assert_eq!(ready_in_one_poll(copy), 128);
    let copy = |cx: &mut Context<'_>| is_ready(cx, copy_buf(&mut &b"abc"[..], &mut Vec::new()));
    assert_eq!(ready_in_one_poll(copy), 128);
}

#[test]
fn endless_copies_yield() {
    let (woken, waker) = WakeCount::new();
    let cx = &mut Context::from_waker(&waker);
    budget::with_initial(|| {
        assert!(pin!(copy(&mut repeat(1), &mut sink())).poll(cx).is_pending());
    });
    assert_eq!(woken.get(), 1);
}

#[test]
fn adapters_consume_no_budget_themselves() {
    let rounds = ready_in_one_poll(|cx| {
        let mut reader = Scripted::new(&b"ab\ncd"[..], [Step::Chunk(1)]);
        let mut reader = BufReader::new(&mut reader);
        is_ready(cx, reader.read_until(b'\n', &mut Vec::new()))
    });
    assert_eq!(rounds, 1000);
}

#[test]
fn outside_a_task_there_is_no_limit() {
    let cx = &mut Context::from_waker(Waker::noop());
    for _ in 0..1000 {
        assert!(is_ready(cx, sink().flush()));
    }
}
