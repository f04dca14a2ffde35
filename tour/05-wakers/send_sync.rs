//! Which values may go to other threads.
//!
//! `T: Send` says that a `T` may be **moved** to another thread; `T: Sync`, that several threads
//! may **share** a `&T`. The compiler works both out from a type's fields. Two types show the
//! difference:
//!
//! - `Rc` is neither. Its clones count in the same plain integer. Two threads that count at the
//!   same time would lose a reference, so no clone may leave the thread.
//! - `Cell` is `Send` and not `Sync`. It can be changed through a `&Cell`, without a lock. That is
//!   fine in any one thread, and a data race in two.
//!
//! The compiler refuses both:
//!
//! ```compile_fail,E0277
//! let cup = std::rc::Rc::new("tea");
//! std::thread::spawn(move || println!("{cup}"));        // `Rc<&str>` cannot be sent
//! ```
//!
//! ```compile_fail,E0277
//! let cups = std::cell::Cell::new(0);
//! std::thread::scope(|scope| {
//!     scope.spawn(|| cups.set(cups.get() + 1));         // `Cell<i32>` cannot be shared
//! });
//! ```
//!
//! 哪些值可以给别的线程。`T: Send`：`T` 可以**搬到**别的线程；`T: Sync`：几个线程可以**共享** `&T`。
//! 编译器根据字段推断。`Rc` 两样都不是：它的各个克隆用同一个普通整数计数，两个线程同时数就会数丢。`Cell`
//! 是 `Send`，但不是 `Sync`：不用锁就能通过 `&Cell` 修改，在任何一个线程里都没问题，两个线程同时改
//! 就是数据竞争。上面两段代码，编译器都会拒绝。

use std::cell::Cell;
use std::marker::PhantomData;
use std::rc::Rc;
use std::sync::{Arc, Mutex, MutexGuard};
use std::task::{Context, Waker};

use crate::timeline::Timeline;

/// Answers for a type whether it is `Send` and whether it is `Sync`.
///
/// A constant of the type itself comes before one of a trait. Where the bound does not hold, the
/// former is not there, and the trait answers `false`.
struct Ask<T: ?Sized>(PhantomData<T>);

trait Otherwise {
    const IS_SEND: bool = false;
    const IS_SYNC: bool = false;
}

impl<T: ?Sized> Otherwise for Ask<T> {}

impl<T: ?Sized + Send> Ask<T> {
    const IS_SEND: bool = true;
}

impl<T: ?Sized + Sync> Ask<T> {
    const IS_SYNC: bool = true;
}

/// Notes the answers for each type.
macro_rules! ask {
    ($timeline:expr, $($type:ty as $name:literal),* $(,)?) => {
        $(note($timeline, $name, Ask::<$type>::IS_SEND, Ask::<$type>::IS_SYNC);)*
    };
}

fn note(timeline: &Timeline, name: &str, is_send: bool, is_sync: bool) {
    let word = |is: bool| if is { "yes" } else { "no" };
    let answer = format!("may be sent: {}, may be shared: {}", word(is_send), word(is_sync));
    timeline.note(name, answer);
}

/// The types that a waker and its task are made of.
pub(super) fn run(timeline: &Timeline) {
    ask!(
        timeline,
        u32 as "u32",
        Rc<u32> as "Rc",
        Cell<u32> as "Cell",
        Arc<Cell<u32>> as "Arc<Cell>",
        Arc<u32> as "Arc",
        Mutex<Cell<u32>> as "Mutex<Cell>",
        MutexGuard<'static, u32> as "MutexGuard",
        Waker as "Waker",
        Context<'static> as "Context",
    );
}
