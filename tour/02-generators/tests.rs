use std::pin::pin;
use std::time::Duration;

use super::awaiting::{self, AsFuture, Sequence};
use super::brew::{self, Brew, Kettle};
use super::writer::{self, Writer};
use super::{Resume, Resumed, dropped_pins, enum_writer};
use crate::timeline::{Event, Timeline};

const WRITER: [&str; 6] =
    ["resumed", "yielded 3", "resumed", "yielded 8", "resumed", "returned \"tea with milk\""];

const BREW: [&str; 6] = [
    "made",
    "resumed",
    "timer armed: 4ms",
    "yielded 4ms",
    "resumed",
    "returned \"brewed for 4ms\"",
];

#[test]
fn what_is_written_through_the_borrow_is_there_after_the_yield() {
    let timeline = Timeline::new();
    writer::in_its_place(&timeline);
    assert_eq!(timeline.story_of("writer"), WRITER);
}

#[test]
fn a_writer_may_be_moved_before_it_is_pinned() {
    let writer = Writer::new();
    let mut moved = Box::pin(writer);
    assert_eq!(moved.as_mut().resume(()), Resumed::Yielded(3));
    assert_eq!(moved.as_mut().resume(()), Resumed::Yielded(8));
}

#[test]
fn a_writer_may_be_dropped_at_every_yield() {
    for resumes in 0..=3 {
        let mut writer = Box::pin(Writer::new());
        for _ in 0..resumes {
            writer.as_mut().resume(());
        }
    }
}

#[test]
fn moving_the_box_keeps_the_pen_in_place_and_moving_the_struct_does_not() {
    let timeline = Timeline::new();
    writer::boxed_and_loose(&timeline);
    let story = timeline.story();
    assert_eq!(story[0], "boxed the box was moved; pen still points at line");
    assert_eq!(story[1], "loose the struct was moved; pen does not point at line");
}

#[test]
fn an_enum_that_points_into_itself_is_wrong_after_mem_replace() {
    let timeline = Timeline::new();
    enum_writer::run(&timeline);
    assert_eq!(
        timeline.story_of("enum"),
        ["made; pen points at line", "taken out by mem::replace; pen does not point at line"]
    );
}

#[test]
fn to_drop_a_pin_on_the_stack_does_not_drop_the_value() {
    let timeline = Timeline::new();
    dropped_pins::run(&timeline);
    assert_eq!(
        timeline.story(),
        [
            "stack its pin on the stack is dropped",
            "heap its Pin<Box> is dropped",
            "heap is dropped",
            "stack the end of the scope",
            "stack is dropped",
        ]
    );
}

#[test]
#[should_panic = "resumed after it had returned"]
fn a_generator_that_has_returned_must_not_be_resumed() {
    let mut writer = pin!(Writer::new());
    for _ in 0..4 {
        writer.as_mut().resume(());
    }
}

#[test]
fn the_brew_is_resumed_when_its_bell_has_rung() {
    let timeline = Timeline::new();
    brew::run(&timeline, Brew::new);
    assert_eq!(timeline.story_of("brew"), BREW);
    let story = timeline.story();
    let rung = story.iter().position(|line| line == "bell timer fired").unwrap();
    let returned = story.iter().position(|line| line.contains("returned")).unwrap();
    assert!(rung < returned, "{story:?}");
    assert_eq!(timeline.threads_of("bell"), ["timer"]);
}

#[test]
fn a_brew_does_nothing_until_it_is_resumed() {
    let timeline = Timeline::new();
    let (bell, rung) = std::sync::mpsc::channel();
    let brew = Brew::new(Kettle { timeline: timeline.clone(), bell });
    assert!(timeline.story().is_empty());
    // The bell went with the brew, so it will never ring.
    drop(brew);
    assert!(rung.recv().is_err());
}

/// Polls and what came of them. When a timer fires is not for us to say.
fn polls_of(sequence: impl Future<Output = &'static str>, timeline: &Timeline) -> Vec<String> {
    awaiting::drive(timeline, sequence);
    let is_poll = |line: &String| line.contains("polled") || line.contains("returned");
    timeline.story().into_iter().filter(is_poll).collect()
}

#[test]
fn the_generator_and_the_async_fn_poll_alike() {
    let delays = || vec![Duration::from_millis(2), Duration::ZERO, Duration::from_millis(1)];
    let (one, other) = (Timeline::new(), Timeline::new());
    let by_hand = polls_of(AsFuture::new(Sequence::new(delays(), one.clone())), &one);
    let async_fn = polls_of(awaiting::sequence(delays(), other.clone()), &other);
    assert_eq!(by_hand, async_fn);
    assert_eq!(one.count("sequence", &Event::Polled), 4);
    assert_eq!(one.count("sequence", &Event::Pending), 3);
}

#[test]
fn nothing_to_wait_for_is_ready_at_once() {
    let timeline = Timeline::new();
    let polls = polls_of(AsFuture::new(Sequence::new(vec![], timeline.clone())), &timeline);
    assert_eq!(polls, ["sequence polled", "sequence returned Ready(\"all rung\")"]);
}

#[cfg(feature = "nightly")]
mod native {
    use super::super::native;
    use super::*;

    #[test]
    fn the_compilers_writer_does_what_ours_does() {
        let timeline = Timeline::new();
        writer::drive(&timeline, pin!(native::writer()));
        assert_eq!(timeline.story_of("writer"), WRITER);
    }

    #[test]
    fn the_compilers_brew_does_what_ours_does() {
        let timeline = Timeline::new();
        brew::run(&timeline, native::brew);
        assert_eq!(timeline.story_of("brew"), BREW);
    }

    #[test]
    fn the_compilers_sequence_does_what_ours_does() {
        let delays = || vec![Duration::from_millis(2), Duration::from_millis(1)];
        let (one, other) = (Timeline::new(), Timeline::new());
        let native = polls_of(AsFuture::new(native::sequence(delays(), one.clone())), &one);
        let by_hand = polls_of(AsFuture::new(Sequence::new(delays(), other.clone())), &other);
        assert_eq!(native, by_hand);
    }
}
