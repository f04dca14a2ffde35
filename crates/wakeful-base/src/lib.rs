//! The lowest layer of the Wakeful runtime: building blocks that know neither tasks nor I/O.
//!
//! | module | contents |
//! |---|---|
//! | [`sync`] | atomics, locks, cells and threads: std's, or loom's in a model |
//! | [`parker`], [`block_on()`] | parking a thread; driving a future on a parked thread |
//! | [`list`] | an intrusive doubly linked list |
//! | [`wake_list`] | wakers collected under a lock, to be called after it is released |
//! | [`budget`] | the cooperative budget of a poll |
//! | [`enter`] | whether the calling thread is inside a runtime |
//! | [`asymmetric_fence`] | fences that cost only their rare side |
//! | [`slab_alloc`], [`prefetch`](mod@prefetch) | memory for small objects; prefetching |
//! | [`catch_panic`], [`diagnostics`] | panics of user code; messages on standard error |
//! | [`on_unwind`] | guards that finish an operation when user code panics |
//! | [`alarm`], [`cpu_time`], [`thread_number`] | a kernel timer; CPU time and id of a thread |
//! | [`ticks`] | a clock that is cheap to read |
//! | [`waiting`], [`threads`] | what tasks and threads wait for |
//! | [`rng`], [`cache_padded`] | random numbers; values on cache lines of their own |
//!
//! This crate is an implementation detail of `wakeful`. Its API follows no version promise.

pub mod alarm;
pub mod asymmetric_fence;
pub mod budget;
pub mod cache_padded;
pub mod catch_panic;
pub mod cpu_time;
pub mod diagnostics;
pub mod enter;
pub mod list;
pub mod on_unwind;
pub mod parker;
pub mod prefetch;
pub mod rng;
pub mod slab_alloc;
pub mod sync;
pub mod thread_number;
pub mod threads;
pub mod ticks;
pub mod waiting;
pub mod wake_list;

mod block_on;

pub use block_on::block_on;
pub use cache_padded::CachePadded;
pub use parker::{Parker, Unparker};
pub use rng::FastRng;
pub use wake_list::{CallWaker, WakeList, call_now};
