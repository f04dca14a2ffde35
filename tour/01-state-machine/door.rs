//! A state machine from everyday life: the automatic door of a tea house.
//!
//! Four things make a state machine. It is in one **state** at a time. An **event** comes from
//! outside. What the machine does about it is the **action**, and the state that it is in
//! afterwards makes the **transition**. [`transition`] is a table of all four.
//!
//! 人人都见过的状态机：茶馆的自动门。状态机有四个要素：它任何时候都处于一个**状态**；外面来了**事件
//! **；它为此做的事是**动作**；之后换到哪个状态，就是**转换**。[`transition`] 就是这四样的一张表。

use crate::timeline::Timeline;

/// Where the door stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    Closed,
    Opening,
    Open,
    Closing,
}

/// What can happen to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Event {
    GuestComes,
    ReachesTheStop,
    NoGuestForAWhile,
}

/// What its motor is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Action {
    Open,
    Close,
    Stop,
    Nothing,
}

/// Returns what the door does about `event`, and the state it is in then.
pub(super) fn transition(state: State, event: Event) -> (Action, State) {
    match (state, event) {
        (State::Closed | State::Closing, Event::GuestComes) => (Action::Open, State::Opening),
        (State::Opening, Event::ReachesTheStop) => (Action::Stop, State::Open),
        (State::Open, Event::NoGuestForAWhile) => (Action::Close, State::Closing),
        (State::Closing, Event::ReachesTheStop) => (Action::Stop, State::Closed),
        // An event that means nothing in this state, as a poll that comes too early.
        (state, _) => (Action::Nothing, state),
    }
}

/// Two guests. The second one comes while the door is closing.
pub(super) fn run(timeline: &Timeline) {
    timeline.note("door", "state + event -> action, next state");
    let mut state = State::Closed;
    for event in [
        Event::NoGuestForAWhile,
        Event::GuestComes,
        Event::ReachesTheStop,
        Event::NoGuestForAWhile,
        Event::GuestComes,
        Event::ReachesTheStop,
    ] {
        let (action, next) = transition(state, event);
        timeline.note("door", format!("{state:?} + {event:?} -> {action:?}, {next:?}"));
        state = next;
    }
}
