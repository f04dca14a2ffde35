//! Ground floor of the Wakeful runtime.
//!
//! What every other crate of the workspace stands on and that knows neither tasks nor I/O: the one
//! switch between std and loom ([`sync`]), a [`parker`], an intrusive [`list`], cache padding, a small
//! random number generator, [`block_on`], fences in unequal pairs ([`asymmetric_fence`]), an [`alarm`], [`cpu_time`],
//! messages on standard error ([`diagnostics`]), a [thread's number](thread_number), memory of small
//! things kept at hand ([`slab_alloc`]) or fetched ahead ([`prefetch`](mod@prefetch)), the cooperative [`budget`] and the mark that says whether this thread is
//! inside a runtime ([`enter`]).
//!
//! This crate is an implementation detail of `wakeful`; its API follows no version promise.

pub mod alarm;
pub mod asymmetric_fence;
pub mod budget;
pub mod cache_padded;
pub mod catch_panic;
pub mod cpu_time;
pub mod diagnostics;
pub mod enter;
pub mod list;
pub mod parker;
pub mod prefetch;
pub mod rng;
pub mod slab_alloc;
pub mod sync;
pub mod thread_number;
pub mod wake_list;

mod block_on;

pub use block_on::block_on;
pub use cache_padded::CachePadded;
pub use parker::{Parker, Unparker};
pub use rng::FastRng;
pub use wake_list::{CallWaker, WakeList, call_now};
