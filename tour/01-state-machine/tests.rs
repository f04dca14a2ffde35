use std::pin::pin;
use std::task::{Context, Poll, Waker};

use super::door::{self, Action, Event, State};
use super::{Clock, MainFuture, as_async_fn, by_hand, main_task, thousand_guests};
use crate::timeline::Timeline;

/// What happened, but for the size of the future and the words of its panic.
fn story(scene: fn(&Timeline)) -> Vec<String> {
    let timeline = Timeline::new();
    scene(&timeline);
    let story = timeline.story().into_iter().filter(|line| !line.contains("bytes"));
    let story = story.map(|line| match line.split_once("panicked: ") {
        Some((who, _)) => format!("{who}panicked"),
        None => line,
    });
    story.collect()
}

#[test]
fn nothing_runs_before_the_first_poll() {
    let timeline = Timeline::new();
    let clock = Clock::default();
    let _async_fn = main_task(&clock, timeline.clone());
    let _by_hand = MainFuture::Start { clock: &clock, timeline: timeline.clone() };
    assert!(timeline.story().is_empty(), "{:?}", timeline.story());
}

#[test]
fn the_async_fn_and_the_enum_do_the_same_at_every_poll() {
    assert_eq!(story(as_async_fn), story(by_hand));
}

#[test]
fn a_poll_goes_as_far_as_it_can_and_no_further() {
    assert_eq!(
        story(by_hand),
        [
            "main made; nothing has run",
            "clock minute 0",
            "main polled",
            "main puts the kettle on",
            "delay polled",
            "delay returned Pending",
            "main returned Pending",
            "clock minute 2",
            "main polled",
            "delay polled",
            "delay returned Pending",
            "main returned Pending",
            "clock minute 3",
            "main polled",
            "delay polled",
            "delay returned Ready(\"hot water\")",
            "main pours it on",
            "delay polled",
            "delay returned Pending",
            "main returned Pending",
            "clock minute 8",
            "main polled",
            "delay polled",
            "delay returned Ready(\"green leaves\")",
            "main returned Ready(\"hot water on green leaves\")",
            "clock one poll too many",
            "main polled",
            "main panicked",
        ]
    );
}

#[test]
fn what_is_ready_from_the_start_needs_one_poll() {
    let clock = Clock::default();
    clock.turn_to(60);
    let timeline = Timeline::new();
    let mut cx = Context::from_waker(Waker::noop());
    let by_hand = pin!(MainFuture::Start { clock: &clock, timeline: timeline.clone() });
    let async_fn = pin!(main_task(&clock, timeline));
    let tea = Poll::Ready("hot water on green leaves".to_owned());
    assert_eq!(by_hand.poll(&mut cx), tea);
    assert_eq!(async_fn.poll(&mut cx), tea);
}

#[test]
#[should_panic = "polled after it had completed"]
fn the_enum_panics_when_polled_after_completion() {
    let mut cx = Context::from_waker(Waker::noop());
    let _ = pin!(MainFuture::Done).poll(&mut cx);
}

#[test]
fn the_door_opens_for_a_guest_who_comes_while_it_closes() {
    let mut state = State::Closed;
    let mut step = |event| {
        let (action, next) = door::transition(state, event);
        state = next;
        (action, next)
    };
    assert_eq!(step(Event::GuestComes), (Action::Open, State::Opening));
    assert_eq!(step(Event::ReachesTheStop), (Action::Stop, State::Open));
    assert_eq!(step(Event::NoGuestForAWhile), (Action::Close, State::Closing));
    assert_eq!(step(Event::GuestComes), (Action::Open, State::Opening));
}

#[test]
fn an_event_that_means_nothing_changes_no_state() {
    for (state, event) in [
        (State::Closed, Event::ReachesTheStop),
        (State::Opening, Event::GuestComes),
        (State::Open, Event::GuestComes),
    ] {
        assert_eq!(door::transition(state, event), (Action::Nothing, state));
    }
}

#[test]
fn a_thousand_guests_take_a_thousand_times_the_bytes_of_one() {
    let timeline = Timeline::new();
    thousand_guests(&timeline);
    let one = std::mem::size_of_val(&main_task(&Clock::default(), Timeline::new()));
    let told = format!("1000 futures wait, in {} bytes", 1000 * one);
    assert!(timeline.story_of("guests").contains(&told), "{:?}", timeline.story());
}
