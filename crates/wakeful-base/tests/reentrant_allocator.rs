//! A global allocator that re-enters the function that has just made it allocate.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use wakeful_base::asymmetric_fence;

struct CallsPrepare;

thread_local! {
    static IS_TO_CALL: Cell<bool> = const { Cell::new(false) };
}

// SAFETY: forwards to the system allocator.
unsafe impl GlobalAlloc for CallsPrepare {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if IS_TO_CALL.replace(false) {
            asymmetric_fence::prepare();
        }
        // SAFETY: by contract.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: by contract.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: CallsPrepare = CallsPrepare;

#[test]
fn a_fence_can_be_prepared_while_it_is_prepared() {
    let (done, is_done) = mpsc::channel();
    thread::spawn(move || {
        IS_TO_CALL.set(true);
        asymmetric_fence::prepare();
        IS_TO_CALL.set(false);
        done.send(()).unwrap();
    });
    is_done.recv_timeout(Duration::from_secs(10)).expect("it hangs");
}
