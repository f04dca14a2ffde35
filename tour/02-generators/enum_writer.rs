//! **Wrong.** The writer as an enum, whose state is taken out with `mem::replace` at each resume,
//! as step 1 did with a future that does not point into itself.
//!
//! The line lies in a variant of the enum, and the pen points at it there. `mem::replace` moves the
//! variant out: now the line is a local variable of `resume`, and the pen points at bytes that the
//! next state has overwritten. Tutorials do this with a raw pointer, and read through it. The
//! program seems to work for as long as the old bytes happen to be there. Here the pen is a number,
//! so that nothing is read.
//!
//! **错误示范。**写成 enum 的 writer，每次 resume 都像第 1 步那样用 `mem::replace` 把状态取出来。
//! line 在 enum 的变体里，pen 指着它；`mem::replace` 一搬，line 成了 `resume` 的局部变量，pen 指着
//! 的地方却已经写上了下一个状态。有的教程用裸指针这样写，还通过它去读；旧字节碰巧还在的时候，看上去
//! 没事。这里的 pen 只是一个数字，所以什么也不会读到。

use std::mem;

use crate::timeline::Timeline;

pub(super) enum EnumWriter {
    Start,
    Writing { line: String, pen_address: usize },
    End,
}

fn address(line: &String) -> usize {
    std::ptr::from_ref(line).addr()
}

impl EnumWriter {
    /// Goes on up to the next yield. Returns whether the pen points at the line then, or `None` at
    /// the end.
    pub(super) fn resume(&mut self) -> Option<bool> {
        match mem::replace(self, EnumWriter::End) {
            EnumWriter::Start => {
                *self = EnumWriter::Writing { line: String::from("tea"), pen_address: 0 };
                let EnumWriter::Writing { line, pen_address } = self else { unreachable!() };
                *pen_address = address(line);
                Some(*pen_address == address(line))
            }
            // `line` has just been moved out of `self`.
            EnumWriter::Writing { line, pen_address } => Some(pen_address == address(&line)),
            EnumWriter::End => None,
        }
    }
}

/// Two resumes: the pen is made in the first, and wrong in the second.
pub(super) fn run(timeline: &Timeline) {
    let mut writer = EnumWriter::Start;
    let pen = |points: Option<bool>| if points == Some(true) { "points" } else { "does not point" };
    let first = pen(writer.resume());
    timeline.note("enum", format!("made; pen {first} at line"));
    let second = pen(writer.resume());
    timeline.note("enum", format!("taken out by mem::replace; pen {second} at line"));
}
