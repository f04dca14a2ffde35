//! Solutions to the exercises of step 2. `SOLUTIONS.md` explains them.
//!
//! What is pinned and not `Unpin` cannot be swapped:
//!
//! ```compile_fail,E0596
//! use std::marker::PhantomPinned;
//! use std::pin::pin;
//!
//! let (mut one, mut other) = (pin!(PhantomPinned), pin!(PhantomPinned));
//! std::mem::swap(&mut *one, &mut *other);
//! ```
//!
//! 第 2 步练习的答案，讲解见 `SOLUTIONS.zh-CN.md`。钉住而又不是 `Unpin` 的值不能交换，上面这段代码
//! 编译不过。

/// The enum that was wrong, with the line on the heap: what `mem::replace` moves is the box, and
/// the line stays where the pen points. (A `String` is three words that point at its text. It is
/// these words that the pen points at, and that must not move.)
#[cfg(test)]
#[expect(clippy::box_collection, reason = "the string itself must stay in its place")]
enum BoxedWriter {
    Start,
    Writing { line: Box<String>, pen_address: usize },
    End,
}

#[cfg(test)]
impl BoxedWriter {
    fn resume(&mut self) -> Option<bool> {
        let address = |line: &String| std::ptr::from_ref(line).addr();
        match std::mem::replace(self, BoxedWriter::End) {
            BoxedWriter::Start => {
                let line = Box::new(String::from("tea"));
                let pen_address = address(&line);
                *self = BoxedWriter::Writing { line, pen_address };
                Some(true)
            }
            BoxedWriter::Writing { line, pen_address } => Some(pen_address == address(&line)),
            BoxedWriter::End => None,
        }
    }
}

#[test]
fn a_line_on_the_heap_stays_when_the_enum_is_moved() {
    let mut writer = BoxedWriter::Start;
    assert_eq!(writer.resume(), Some(true));
    let mut moved = Box::new(writer);
    assert_eq!(moved.resume(), Some(true));
    assert_eq!(moved.resume(), None);
}
