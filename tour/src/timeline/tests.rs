use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Wake, Waker};
use std::thread;
use std::time::Duration;

use super::{Event, Timeline};
use crate::lang::Lang;

/// The printed lines below the names of the columns, without their times, which come first.
fn printed(timeline: &Timeline) -> Vec<String> {
    let text = timeline.to_string();
    text.lines().skip(1).map(|line| line.get(12..).unwrap_or(line).to_owned()).collect()
}

#[test]
fn a_story_has_events_in_order_without_scenes() {
    let timeline = Timeline::new();
    timeline.scene("first");
    timeline.armed("delay", Duration::from_millis(10));
    timeline.fired("delay");
    timeline.woken("task", "the timer");
    assert_eq!(
        timeline.story(),
        ["delay timer armed: 10ms", "delay timer fired", "task woken by the timer"]
    );
    assert_eq!(timeline.story_of("delay"), ["timer armed: 10ms", "timer fired"]);
    assert_eq!(timeline.count("delay", &Event::Fired), 1);
}

#[test]
fn threads_are_told_apart() {
    let timeline = Timeline::new();
    for name in ["one", "two", "one"] {
        let theirs = timeline.clone();
        let thread = thread::Builder::new().name(name.to_owned());
        thread.spawn(move || theirs.polled("task")).unwrap().join().unwrap();
    }
    assert_eq!(timeline.threads_of("task"), ["one", "two"]);
}

#[test]
fn a_traced_future_records_its_polls() {
    let timeline = Timeline::new();
    let mut turns = 0;
    let future = std::future::poll_fn(|_| {
        turns += 1;
        if turns < 2 { std::task::Poll::Pending } else { std::task::Poll::Ready(turns) }
    });
    let mut future = pin!(timeline.trace("it", future));
    let mut cx = Context::from_waker(Waker::noop());
    while future.as_mut().poll(&mut cx).is_pending() {}
    assert_eq!(
        timeline.story_of("it"),
        ["polled", "returned Pending", "polled", "returned Ready(2)"]
    );
}

#[test]
fn a_traced_waker_records_and_passes_on() {
    #[derive(Default)]
    struct Count(AtomicUsize);
    impl Wake for Count {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }

    let timeline = Timeline::new();
    let count = Arc::new(Count::default());
    let waker = timeline.trace_waker("task", &count.clone().into());
    waker.wake_by_ref();
    waker.wake();
    assert_eq!(count.0.load(Ordering::Relaxed), 2);
    assert_eq!(timeline.story_of("task").len(), 2);
}

#[test]
fn an_inner_poll_is_printed_below_the_outer() {
    let timeline = Timeline::new();
    timeline.polled("outer");
    timeline.polled("inner");
    timeline.pending("inner");
    timeline.pending("outer");
    let text = timeline.to_string();
    assert!(text.contains("  outer    polled"), "{text}");
    assert!(text.contains("    inner  returned Pending"), "{text}");
}

#[test]
fn what_repeats_is_printed_once_with_a_count() {
    let timeline = Timeline::new();
    timeline.note("loop", "begins");
    for _ in 0..1000 {
        timeline.polled("it");
        timeline.woken("it", "itself");
        timeline.pending("it");
    }
    timeline.note("loop", "ends");
    let printed = printed(&timeline);
    assert_eq!(printed.len(), 6, "{printed:#?}");
    assert!(printed[4].starts_with("these 3 lines 999 times more"), "{printed:#?}");
    assert!(printed[5].ends_with("ends"), "{printed:#?}");
}

#[test]
fn a_panicked_poll_does_not_indent_what_follows() {
    let timeline = Timeline::new();
    timeline.polled("it");
    timeline.panicked("it", "polled again");
    timeline.note("it", "afterwards");
    let text = timeline.to_string();
    assert!(text.contains("  it   afterwards"), "{text}");
}

#[test]
fn in_chinese_the_columns_stand_where_they_stand_in_english() {
    let timeline = Timeline::new();
    timeline.scene("Woken by another thread");
    timeline.polled("task");
    timeline.note("task", "a text that is not in the table");
    let (english, chinese) = (timeline.to_string(), timeline.printed_in(Lang::Chinese).to_string());
    assert!(chinese.starts_with("      时间  线程"), "{chinese}");
    assert!(chinese.contains("\n被另一个线程唤醒\n"), "{chinese}");
    let place = |text: &str, what: &str| text.lines().find_map(|line| line.find(what));
    assert_eq!(place(&english, "polled"), place(&chinese, "被轮询"));
    assert_eq!(place(&english, "a text"), place(&chinese, "a text"));
}
