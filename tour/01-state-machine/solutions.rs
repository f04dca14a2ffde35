//! Solutions to the exercises of step 1. `SOLUTIONS.md` explains them.
//!
//! 第 1 步练习的答案，讲解见 `SOLUTIONS.zh-CN.md`。

use std::hint::black_box;
use std::mem;
use std::pin::{Pin, pin};
use std::task::{Context, Poll, Waker};

use super::{Clock, Delay, delay, main_task};
use crate::panics;
use crate::timeline::{Event, Timeline};

fn poll<F: Future + ?Sized>(future: Pin<&mut F>) -> Poll<F::Output> {
    future.poll(&mut Context::from_waker(Waker::noop()))
}

#[test]
fn from_minute_8_on_one_poll_does_it_all() {
    let (clock, timeline) = (Clock::default(), Timeline::new());
    clock.turn_to(8);
    let future = pin!(main_task(&clock, timeline.clone()));
    assert!(poll(future).is_ready());
    assert_eq!(timeline.count("delay", &Event::Polled), 2);
    assert_eq!(timeline.count("delay", &Event::Pending), 0);
}

/// Tea with a biscuit: a third delay.
async fn with_biscuit(clock: &Clock, timeline: Timeline) -> String {
    let water = delay(clock, 3, "hot water", &timeline).await;
    let leaves = delay(clock, 7, "green leaves", &timeline).await;
    let biscuit = delay(clock, 9, "a biscuit", &timeline).await;
    format!("{water} on {leaves}, and {biscuit}")
}

/// The same by hand. `Brewing` has to keep what the third delay needs, and `Baking` both results.
enum WithBiscuit<'c> {
    Start { clock: &'c Clock, timeline: Timeline },
    Boiling { clock: &'c Clock, timeline: Timeline, boiling: Delay<'c> },
    Brewing { clock: &'c Clock, timeline: Timeline, water: &'static str, brewing: Delay<'c> },
    Baking { water: &'static str, leaves: &'static str, baking: Delay<'c> },
    Done,
}

impl Future for WithBiscuit<'_> {
    type Output = String;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<String> {
        use WithBiscuit::{Baking, Boiling, Brewing, Done, Start};
        loop {
            *self = match mem::replace(&mut *self, Done) {
                Start { clock, timeline } => {
                    let boiling = delay(clock, 3, "hot water", &timeline);
                    Boiling { clock, timeline, boiling }
                }
                Boiling { clock, timeline, mut boiling } => {
                    let Poll::Ready(water) = Pin::new(&mut boiling).poll(cx) else {
                        *self = Boiling { clock, timeline, boiling };
                        return Poll::Pending;
                    };
                    let brewing = delay(clock, 7, "green leaves", &timeline);
                    Brewing { clock, timeline, water, brewing }
                }
                Brewing { clock, timeline, water, mut brewing } => {
                    let Poll::Ready(leaves) = Pin::new(&mut brewing).poll(cx) else {
                        *self = Brewing { clock, timeline, water, brewing };
                        return Poll::Pending;
                    };
                    Baking { water, leaves, baking: delay(clock, 9, "a biscuit", &timeline) }
                }
                Baking { water, leaves, mut baking } => {
                    let Poll::Ready(biscuit) = Pin::new(&mut baking).poll(cx) else {
                        *self = Baking { water, leaves, baking };
                        return Poll::Pending;
                    };
                    return Poll::Ready(format!("{water} on {leaves}, and {biscuit}"));
                }
                Done => panic!("polled after it had completed"),
            };
        }
    }
}

#[test]
fn a_third_delay_is_a_third_state() {
    type Make = fn(&Clock, Timeline) -> Pin<Box<dyn Future<Output = String> + '_>>;
    let story = |make: Make| {
        let (clock, timeline) = (Clock::default(), Timeline::new());
        let mut future = make(&clock, timeline.clone());
        let polls = [0, 3, 7, 9].map(|minute| {
            clock.turn_to(minute);
            poll(future.as_mut())
        });
        (polls, timeline.story())
    };
    let async_fn = story(|clock, timeline| Box::pin(with_biscuit(clock, timeline)));
    let by_hand = story(|clock, timeline| Box::pin(WithBiscuit::Start { clock, timeline }));
    assert_eq!(async_fn, by_hand);
    assert_eq!(async_fn.0[3], Poll::Ready("hot water on green leaves, and a biscuit".to_owned()));
}

#[test]
fn an_array_counts_if_it_lives_across_an_await() {
    async fn kept(clock: &Clock, timeline: Timeline) -> u8 {
        let tray = [black_box(0u8); 1000];
        delay(clock, 3, "hot water", &timeline).await;
        delay(clock, 7, "green leaves", &timeline).await;
        tray[black_box(7)]
    }
    async fn used_before(clock: &Clock, timeline: Timeline) -> u8 {
        let cups = {
            let tray = [black_box(0u8); 1000];
            tray[black_box(7)]
        };
        delay(clock, 3, "hot water", &timeline).await;
        delay(clock, 7, "green leaves", &timeline).await;
        cups
    }
    let (clock, timeline) = (Clock::default(), Timeline::new());
    let plain = mem::size_of_val(&main_task(&clock, timeline.clone()));
    assert!(mem::size_of_val(&kept(&clock, timeline.clone())) >= plain + 1000 - 100);
    assert!(mem::size_of_val(&used_before(&clock, timeline)) < plain + 100);
}

/// `MainFuture` with one delay, of any kind.
enum OneDelay<F> {
    Waiting(F),
    Done,
}

impl<F: Future + Unpin> Future for OneDelay<F> {
    type Output = F::Output;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<F::Output> {
        match mem::replace(&mut *self, OneDelay::Done) {
            OneDelay::Waiting(mut delay) => {
                let polled = Pin::new(&mut delay).poll(cx);
                if polled.is_pending() {
                    *self = OneDelay::Waiting(delay);
                }
                polled
            }
            OneDelay::Done => panic!("polled after it had completed"),
        }
    }
}

#[test]
fn a_panic_leaves_done_behind() {
    let broken = || std::future::poll_fn(|_| -> Poll<()> { panic!("the clock fell down") });

    let mut by_hand = pin!(OneDelay::Waiting(broken()));
    let first = panics::catch(|| poll(by_hand.as_mut()));
    assert_eq!(first, Err("the clock fell down".to_owned()));
    assert!(matches!(*by_hand, OneDelay::Done));
    let second = panics::catch(|| poll(by_hand.as_mut()));
    assert_eq!(second, Err("polled after it had completed".to_owned()));

    let mut async_fn = pin!(async move { broken().await });
    assert!(panics::catch(|| poll(async_fn.as_mut())).is_err());
    let second = panics::catch(|| poll(async_fn.as_mut())).unwrap_err();
    assert!(second.contains("resumed after panicking"), "{second}");
}
