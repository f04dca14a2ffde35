//! What ends when a pin is dropped, and what does not.
//!
//! `pin!` gives a `Pin<&mut T>`, which is a reference. To drop it ends the reference and nothing
//! else: the value lives on to the end of its scope, and stays pinned, since it was promised that
//! it would not move until it is dropped itself. A `Pin<Box<T>>` owns its value, which goes with
//! it.
//!
//! 丢弃一个 pin 会结束什么、不会结束什么。`pin!` 给的 `Pin<&mut T>` 是引用，丢弃它只结束这个引用；
//! 值一直活到作用域结束，而且始终钉着，因为承诺是“在值自己被 drop 之前不移动”。`Pin<Box<T>>` 拥有它
//! 的值，一丢就一起丢。

use std::marker::PhantomPinned;
use std::pin::{Pin, pin};

use crate::timeline::Timeline;

/// A value that notes its end.
struct Guest<'t> {
    name: &'static str,
    timeline: &'t Timeline,
    _stays: PhantomPinned,
}

impl<'t> Guest<'t> {
    fn new(name: &'static str, timeline: &'t Timeline) -> Guest<'t> {
        Guest { name, timeline, _stays: PhantomPinned }
    }
}

impl Drop for Guest<'_> {
    fn drop(&mut self) {
        self.timeline.note(self.name, "is dropped");
    }
}

/// A pin on the stack and one on the heap, both dropped before the scope ends.
pub(super) fn run(timeline: &Timeline) {
    {
        let on_the_stack: Pin<&mut Guest<'_>> = pin!(Guest::new("stack", timeline));
        let on_the_heap: Pin<Box<Guest<'_>>> = Box::pin(Guest::new("heap", timeline));
        timeline.note("stack", "its pin on the stack is dropped");
        // Clippy would rather not see it: to drop a reference does nothing. That is the point.
        let _ = on_the_stack;
        timeline.note("heap", "its Pin<Box> is dropped");
        drop(on_the_heap);
        timeline.note("stack", "the end of the scope");
    }
}
