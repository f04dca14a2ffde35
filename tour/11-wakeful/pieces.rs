//! The map from the tour to Wakeful. A test checks that all of it is there.
//!
//! 从导览到 Wakeful 的对照表。有测试检查其中每一项都在。

/// A part of the tour, and its counterpart.
pub(super) struct Piece {
    /// Where the tour has it.
    pub(super) step: u32,
    /// What it is called there, as it is declared.
    pub(super) here: &'static str,
    /// What does its work in Wakeful, as it is declared.
    pub(super) there: &'static str,
    /// Where that is.
    pub(super) file: &'static str,
}

const fn piece(step: u32, here: &'static str, there: &'static str, file: &'static str) -> Piece {
    Piece { step, here, there, file }
}

/// In the order of the tour.
pub(super) const PIECES: &[Piece] = &[
    piece(1, "enum MainFuture", "union FutureOrOutput", "crates/wakeful-task/src/cell.rs"),
    piece(2, "struct Writer", "struct List", "crates/wakeful-base/src/list.rs"),
    piece(3, "struct Delay", "struct Sleep", "crates/wakeful-runtime/src/time/sleep.rs"),
    piece(3, "struct Slot", "struct EntryState", "crates/wakeful-reactor/src/time/state.rs"),
    piece(
        4,
        "struct MiniTokio",
        "struct CurrentThread",
        "crates/wakeful-runtime/src/scheduler/current_thread.rs",
    ),
    piece(5, "static VTABLE", "static WAKER", "crates/wakeful-task/src/waker.rs"),
    piece(5, "struct Ledger", "struct TaskState", "crates/wakeful-task/src/state.rs"),
    piece(6, "fn block_on", "fn block_on", "crates/wakeful-base/src/block_on.rs"),
    piece(6, "struct Sleeper", "struct Parker", "crates/wakeful-base/src/parker.rs"),
    piece(6, "struct Reactor", "struct Timers", "crates/wakeful-reactor/src/time/timers.rs"),
    piece(6, "fn serve", "struct Wheel", "crates/wakeful-reactor/src/time/wheel.rs"),
    piece(7, "struct Task", "struct Header", "crates/wakeful-task/src/header.rs"),
    piece(
        7,
        "fn take_turn",
        "fn run_task",
        "crates/wakeful-runtime/src/scheduler/multi_thread/run_task.rs",
    ),
    piece(7, "struct Spawner", "struct Handle", "crates/wakeful-runtime/src/runtime/handle.rs"),
    piece(
        7,
        "struct BoundedSender",
        "struct RunQueue",
        "crates/wakeful-runtime/src/scheduler/multi_thread/queue.rs",
    ),
    piece(8, "enum Stage", "struct TaskState", "crates/wakeful-task/src/state.rs"),
    piece(
        8,
        "struct GlobalQueue",
        "struct InjectionQueue",
        "crates/wakeful-runtime/src/scheduler/inject.rs",
    ),
    piece(
        8,
        "struct Executor",
        "struct MultiThread",
        "crates/wakeful-runtime/src/scheduler/multi_thread.rs",
    ),
    piece(
        8,
        "struct GlobalQueue",
        "struct Idle",
        "crates/wakeful-runtime/src/scheduler/multi_thread/idle.rs",
    ),
    piece(
        8,
        "fn abandon_all",
        "fn clear_up",
        "crates/wakeful-runtime/src/scheduler/multi_thread/shutdown.rs",
    ),
    piece(9, "struct Reactor", "struct Poller", "crates/wakeful-reactor/src/sys/linux/epoll.rs"),
    piece(9, "struct Registry", "struct IoDriver", "crates/wakeful-reactor/src/io/driver.rs"),
    piece(9, "struct Key", "struct IoSlot", "crates/wakeful-reactor/src/io/slot.rs"),
    piece(9, "struct EpollReceiver", "trait Driver", "crates/wakeful-runtime/src/driver.rs"),
    piece(9, "struct Watched", "struct Watched", "crates/wakeful/src/io/watched.rs"),
    piece(10, "struct Notify", "struct Notify", "crates/wakeful-sync/src/notify.rs"),
    piece(10, "struct Line", "struct WaitQueue", "crates/wakeful-sync/src/wait_queue.rs"),
    piece(10, "enum Place", "struct Waiter", "crates/wakeful-sync/src/wait_queue/waiter.rs"),
];
