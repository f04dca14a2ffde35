//! Checks channels with an allocator that uses the very channel that is allocating or freeing.

mod support;

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::{Cell, RefCell};

use support::must_end;
use wakeful_sync::mpsc;
use wakeful_sync::mpsc::error::TryRecvError;

struct CallsHooks;

type Hook = Cell<Option<&'static dyn Fn()>>;

thread_local! {
    static ON_ALLOC: Hook = const { Cell::new(None) };
    static ON_DEALLOC: Hook = const { Cell::new(None) };
}

/// A value so big that a block of such values fits into no slab and comes from the global
/// allocator.
type Big = [u8; 1000];

fn is_block(layout: Layout) -> bool {
    layout.size() > 32 * size_of::<Big>()
}

// SAFETY: all calls are forwarded to the system allocator, which satisfies the contract.
unsafe impl GlobalAlloc for CallsHooks {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if is_block(layout) {
            if let Some(hook) = ON_ALLOC.take() {
                hook();
            }
        }
        // SAFETY: by contract.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        if is_block(layout) {
            if let Some(hook) = ON_DEALLOC.take() {
                hook();
            }
        }
        // SAFETY: by contract.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: CallsHooks = CallsHooks;

#[test]
fn a_block_that_a_sender_does_not_need_is_freed_while_it_owes_no_value() {
    must_end(|| {
        let (tx, rx) = mpsc::unbounded_channel::<Big>();
        let tx = &*Box::leak(Box::new(tx));
        let rx = &*Box::leak(Box::new(RefCell::new(rx)));
        let send = |count| (0..count).for_each(|_| tx.send([0; 1000]).unwrap());
        // The next value takes the last slot of a block. Before that, its sender allocates another
        // block.
        send(31);
        ON_ALLOC.set(Some(Box::leak(Box::new(move || {
            // The sender loses that slot to this value. Then the receiver returns as many blocks as
            // are kept for reuse.
            send(1 + 6 * 32);
            while rx.borrow_mut().try_recv().is_ok() {}
            ON_DEALLOC.set(Some(Box::leak(Box::new(|| {
                assert_eq!(rx.borrow_mut().try_recv(), Err(TryRecvError::Empty));
            }))));
        }))));
        tx.send([1; 1000]).unwrap();
        assert!(ON_ALLOC.take().is_none() && ON_DEALLOC.take().is_none(), "both were called");
        assert_eq!(rx.borrow_mut().try_recv(), Ok([1; 1000]));
    });
}
