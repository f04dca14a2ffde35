//! Generators: functions that stop in the middle and go on later.
//!
//! Async fns are made of them. What a generator does at `yield` is all that an async fn does at
//! `.await`, so this step looks at generators alone first:
//!
//! - [`writer`]: a generator that borrows from itself, and how `Pin` keeps that sound;
//! - [`enum_writer`]: the same as an enum that is moved, which is wrong;
//! - [`dropped_pins`]: what ends when a pin is dropped;
//! - [`brew`]: one that starts a timer and yields, to be resumed when the timer rings;
//! - [`awaiting`]: `.await` as "poll, else yield".
//!
//! The compiler's own generators are not stable. With the feature `nightly` and a nightly compiler,
//! `native.rs` writes the first and the last two with them.
//!
//! 生成器：停在半路、之后再继续的函数。async fn 就是用它做成的：生成器在 `yield` 处做的，就是 async
//! fn 在 `.await` 处做的。所以这一步先只看生成器：[`writer`] 借用自己，靠 `Pin` 保证不出错；
//! [`brew`] 启动定时器后 yield，铃响再被 resume；[`awaiting`] 把 `.await` 写成“先 poll，不行就
//! yield”。另有 [`enum_writer`]（错误示范）和 [`dropped_pins`]（丢弃 pin 会怎样）。编译器自己的生成
//! 器还不稳定；用 nightly 编译器并打开 `nightly` 特性，`native.rs` 会用它们把 [`writer`]、[`brew`]
//! 和 [`awaiting`] 再做一遍。

use std::pin::Pin;

use crate::timeline::Timeline;

mod awaiting;
mod brew;
mod dropped_pins;
mod enum_writer;
#[cfg(feature = "nightly")]
mod native;
#[cfg(any(test, doctest))]
mod solutions;
#[cfg(test)]
mod tests;
mod writer;

/// Something that can be resumed until it returns. `std::ops::Coroutine` looks just like this.
///
/// Compare `Future`: `resume` is `poll`, a context comes in as the argument, and what is yielded is
/// always the same, "pending".
trait Resume<Argument = ()> {
    type Yield;
    type Return;

    /// Goes on from where it stopped, up to the next `yield` or to the end.
    fn resume(self: Pin<&mut Self>, argument: Argument) -> Resumed<Self::Yield, Self::Return>;
}

/// How far `resume` has come.
#[derive(Debug, PartialEq)]
enum Resumed<Y, R> {
    /// To a `yield`, and it wants to be resumed.
    Yielded(Y),
    /// To the end. It must not be resumed any more.
    Returned(R),
}

/// Runs the step.
pub fn run(timeline: &Timeline) {
    timeline.scene("A generator that borrows from itself");
    writer::in_its_place(timeline);
    timeline.scene("Why it must stay in its place");
    writer::boxed_and_loose(timeline);
    timeline.scene("Wrong: an enum that points into itself, and mem::replace");
    enum_writer::run(timeline);
    timeline.scene("A pin that is dropped, and the value that stays");
    dropped_pins::run(timeline);
    timeline.scene("A timer, driven by resume and yield");
    brew::run(timeline, brew::Brew::new);
    timeline.scene("await is: poll, else yield");
    awaiting::run(timeline, awaiting::Sequence::new);

    #[cfg(feature = "nightly")]
    {
        timeline.scene("All three once more, with the compiler's own generators");
        writer::drive(timeline, std::pin::pin!(native::writer()));
        brew::run(timeline, native::brew);
        awaiting::run(timeline, native::sequence);
    }
}
