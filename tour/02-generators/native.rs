//! The same with the compiler's own generators, which it calls coroutines. Nightly only.
//!
//! 同样的事，用编译器自己的生成器（它称为 coroutine）来做。仅限 nightly。

use std::ops::{Coroutine, CoroutineState};
use std::pin::{Pin, pin};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use super::brew::{Kettle, PER_CUP};
use super::{Resume, Resumed, awaiting};
use crate::timeline::Timeline;

/// A coroutine, under our trait.
pub(super) struct Native<C>(Pin<Box<C>>);

impl<A, C: Coroutine<A>> Resume<A> for Native<C> {
    type Yield = C::Yield;
    type Return = C::Return;

    fn resume(mut self: Pin<&mut Self>, argument: A) -> Resumed<C::Yield, C::Return> {
        match self.0.as_mut().resume(argument) {
            CoroutineState::Yielded(value) => Resumed::Yielded(value),
            CoroutineState::Complete(value) => Resumed::Returned(value),
        }
    }
}

/// `static` says that it does not move once it has been resumed. Without it the compiler refuses a
/// borrow across a `yield`.
pub(super) fn writer() -> impl Resume<Yield = usize, Return = String> {
    Native(Box::pin(
        #[coroutine]
        static || {
            let mut line = String::from("tea");
            let pen = &mut line;
            yield pen.len();
            pen.push_str(" with");
            yield pen.len();
            pen.push_str(" milk");
            line
        },
    ))
}

/// Starts a timer and yields.
pub(super) fn brew(
    kettle: Kettle,
) -> Native<impl Coroutine<(), Yield = Duration, Return = String> + Send> {
    Native(Box::pin(
        #[coroutine]
        move || {
            let steep = 2 * PER_CUP;
            kettle.start(steep);
            yield steep;
            format!("brewed for {steep:?}")
        },
    ))
}

/// `.await`, as the compiler writes it.
macro_rules! awaited {
    ($future:expr, $waker:ident) => {{
        let mut future = pin!($future);
        loop {
            match future.as_mut().poll(&mut Context::from_waker(&$waker)) {
                Poll::Ready(value) => break value,
                Poll::Pending => $waker = yield,
            }
        }
    }};
}

/// Waits for one timer after the other.
pub(super) fn sequence(
    delays: Vec<Duration>,
    timeline: Timeline,
) -> Native<impl Coroutine<Waker, Yield = (), Return = &'static str>> {
    Native(Box::pin(
        #[coroutine]
        static move |mut waker: Waker| {
            for after in delays {
                awaited!(awaiting::Timer::new(after, &timeline), waker);
            }
            "all rung"
        },
    ))
}
