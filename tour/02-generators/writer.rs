//! A generator that borrows from itself.
//!
//! If there were generators in stable Rust, it would read:
//!
//! ```text
//! let mut line = String::from("tea");
//! let pen = &mut line;
//! yield pen.len();             // the borrow lives on, across the yield
//! pen.push_str(" with");
//! yield pen.len();
//! pen.push_str(" milk");
//! line
//! ```
//!
//! 借用自己的生成器。要是稳定版的 Rust 有生成器，就会写成上面那样：借用跨过 yield，一直有效。

use std::marker::PhantomPinned;
use std::mem;
use std::pin::{Pin, pin};
use std::ptr::{self, NonNull};

use super::{Resume, Resumed};
use crate::timeline::Timeline;

/// The local variables of the generator, and where in its text it stands.
///
/// `line` and `pen` are both alive at both yields, so they are not kept in the variants of an enum:
/// to go from one variant to the next would be to move them, and `line` must not move. The compiler
/// lays out its futures in the same way.
pub(super) struct Writer {
    at: Place,
    line: String,
    /// Points at `line`, its own neighbour. A reference would need a lifetime for "as long as the
    /// struct that I am in", and there is no such lifetime.
    pen: Option<NonNull<String>>,
    /// Takes `Unpin` away: through a `Pin<&mut Writer>` only `unsafe` code can move the writer.
    _stays: PhantomPinned,
}

enum Place {
    Start,
    FirstYield,
    SecondYield,
    End,
}

impl Writer {
    /// Nothing has run, nothing points at anything: it may still be moved.
    pub(super) fn new() -> Writer {
        Writer { at: Place::Start, line: String::new(), pen: None, _stays: PhantomPinned }
    }

    /// Whether `pen` points at the `line` beside it.
    fn is_whole(&self) -> bool {
        self.pen.is_some_and(|pen| ptr::eq(pen.as_ptr(), &raw const self.line))
    }
}

impl Resume for Writer {
    type Yield = usize;
    type Return = String;

    fn resume(self: Pin<&mut Self>, _: ()) -> Resumed<usize, String> {
        // SAFETY: nothing is moved out of `this` before the end, where `line` is taken and `pen`,
        // which points at it, is gone.
        let this = unsafe { self.get_unchecked_mut() };
        match this.at {
            Place::Start => {
                this.line.push_str("tea");
                // From here on `line` is only touched through `pen`, as the borrow in the text
                // would have it. It was pinned when we were called, so it stays where it is.
                let pen = this.pen.insert(NonNull::from(&mut this.line));
                // SAFETY: it has just been made from a reference to `line`.
                let length = unsafe { pen.as_ref() }.len();
                this.at = Place::FirstYield;
                Resumed::Yielded(length)
            }
            Place::FirstYield => {
                this.at = Place::SecondYield;
                Resumed::Yielded(this.write(" with"))
            }
            Place::SecondYield => {
                this.write(" milk");
                this.pen = None;
                this.at = Place::End;
                Resumed::Returned(mem::take(&mut this.line))
            }
            Place::End => panic!("the writer was resumed after it had returned"),
        }
    }
}

impl Writer {
    /// Goes on with the line, and returns how long it is now.
    fn write(&mut self, words: &str) -> usize {
        let mut pen = self.pen.expect("the pen was made before the first yield");
        // SAFETY: `pen` points at `line`. It did when it was made, and the writer, being pinned,
        // has not moved since. There is no other reference to `line`: the writer is borrowed
        // mutably, and gives none away.
        let line = unsafe { pen.as_mut() };
        line.push_str(words);
        line.len()
    }
}

/// Resumes a generator until it returns.
pub(super) fn drive(
    timeline: &Timeline,
    mut generator: Pin<&mut impl Resume<Yield = usize, Return = String>>,
) {
    loop {
        timeline.note("writer", "resumed");
        match generator.as_mut().resume(()) {
            Resumed::Yielded(length) => timeline.note("writer", format!("yielded {length}")),
            Resumed::Returned(line) => {
                timeline.note("writer", format!("returned {line:?}"));
                break;
            }
        }
    }
}

/// On the stack: `pin!` takes the value into a place that has no name, so no code can move it out.
pub(super) fn in_its_place(timeline: &Timeline) {
    drive(timeline, pin!(Writer::new()));
}

/// A box can be moved without moving what is in it. A struct cannot.
pub(super) fn boxed_and_loose(timeline: &Timeline) {
    let mut boxed = Box::pin(Writer::new());
    boxed.as_mut().resume(());
    let shelf = [boxed];
    let stays = if shelf[0].is_whole() { "still points" } else { "does not point" };
    timeline.note("boxed", format!("the box was moved; pen {stays} at line"));

    let mut loose = Loose { line: String::from("tea"), pen_address: 0 };
    loose.pen_address = (&raw const loose.line).addr();
    let moved = Box::new(loose);
    let stays = if moved.is_whole() { "still points" } else { "does not point" };
    timeline.note("loose", format!("the struct was moved; pen {stays} at line"));
}

/// A writer that can be moved, to see what becomes of its pen. The pen is a number here, so that no
/// code can write through it once it points at where the line was.
struct Loose {
    line: String,
    pen_address: usize,
}

impl Loose {
    fn is_whole(&self) -> bool {
        self.pen_address == (&raw const self.line).addr()
    }
}
