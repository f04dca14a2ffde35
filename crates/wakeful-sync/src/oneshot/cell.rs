//! The memory that a oneshot channel's two ends share, and who may touch which part of it.
//!
//! - `value`: the sender until `SENT`, then the receiver.
//! - `rx_waker`: the receiver while `RX_WAKER` is not set. While it is, either may read it; taking it is
//!   settled as `state.rs` says.
//! - `tx_waker`: the same with the sender and `TX_WAKER`.
//!
//! Wakers and values are user code: they are first moved out of the cell, the state is brought to where it
//! has to be, and only then are they called or dropped. So a panic in one leaves nothing half done.

use std::mem::MaybeUninit;
use std::ptr::NonNull;
use std::task::{Poll, Waker};

use wakeful_base::catch_panic::contain_panic;
use wakeful_base::slab_alloc;
use wakeful_base::sync::UnsafeCell;

use super::state::{Closed, EndsLeft, Finished, OneshotState};

pub(super) struct ChannelCell<T> {
    pub(super) state: OneshotState,
    value: UnsafeCell<MaybeUninit<T>>,
    rx_waker: WakerSlot,
    tx_waker: WakerSlot,
}

/// A waker that is there or not, as the state says.
struct WakerSlot(UnsafeCell<MaybeUninit<Waker>>);

impl WakerSlot {
    fn empty() -> Self {
        WakerSlot(UnsafeCell::new(MaybeUninit::uninit()))
    }

    /// # Safety
    /// The slot must be empty and the caller's.
    unsafe fn put(&self, waker: Waker) {
        // SAFETY: nobody else touches the slot, by contract.
        self.0.with_mut(|slot| unsafe { (*slot).write(waker) });
    }

    /// # Safety
    /// The slot must be full, and the caller the one to empty it.
    unsafe fn take(&self) -> Waker {
        // SAFETY: full by contract. Its former owner may still be comparing it, so this is a read.
        self.0.with(|slot| unsafe { (*slot).assume_init_read() })
    }

    /// # Safety
    /// The caller must have filled the slot.
    unsafe fn would_wake(&self, waker: &Waker) -> bool {
        // SAFETY: filled by contract. If the other side takes the waker meanwhile, its bits stay: the slot
        // is not written again, and `will_wake` compares nothing but them.
        self.0.with(|slot| unsafe { (*slot).assume_init_ref() }.will_wake(waker))
    }
}

/// One end's share of the cell. Whoever has it must leave once, and not touch it afterwards.
pub(super) type CellRef<T> = NonNull<ChannelCell<T>>;

impl<T> ChannelCell<T> {
    pub(super) fn allocate() -> CellRef<T> {
        let cell = slab_alloc::allocate();
        // SAFETY: just allocated for one.
        unsafe {
            cell.write(ChannelCell {
                state: OneshotState::new(),
                value: UnsafeCell::new(MaybeUninit::uninit()),
                rx_waker: WakerSlot::empty(),
                tx_waker: WakerSlot::empty(),
            });
        }
        cell
    }

    /// Sends `value`, or only says that nothing will be sent. The sender has left then.
    ///
    /// # Safety
    /// Only for the sender, which has not left.
    #[inline]
    pub(super) unsafe fn finish(this: CellRef<T>, value: Option<T>) -> Result<(), Option<T>> {
        // SAFETY: the sender has not left, so the cell is live.
        let cell = unsafe { this.as_ref() };
        let with_value = value.is_some();
        if let Some(value) = value {
            // SAFETY: nothing was sent yet, so the place is the sender's.
            cell.value.with_mut(|place| unsafe { (*place).write(value) });
        }
        match cell.state.finish(with_value) {
            Finished::SenderLeft => Ok(()),
            // SAFETY: the sender has not left, and leaves by this.
            finished => unsafe { Self::finish_slow(this, finished, with_value) },
        }
    }

    /// The rest of [`finish`](Self::finish), if it was not all done by the state.
    ///
    /// # Safety
    /// As for `finish`.
    #[inline(never)]
    unsafe fn finish_slow(
        this: CellRef<T>,
        finished: Finished,
        with_value: bool,
    ) -> Result<(), Option<T>> {
        // SAFETY: the sender has not left, so the cell is live.
        let cell = unsafe { this.as_ref() };
        match finished {
            Finished::SenderLeft => Ok(()),
            Finished::ReceiverWaits => {
                // SAFETY: the state gave the receiver's waker to us.
                let waker = unsafe { cell.rx_waker.take() };
                // SAFETY: the sender touches the cell no more.
                unsafe { free_if_both_left(cell.state.leave_sender(), this) };
                waker.wake();
                Ok(())
            }
            Finished::ReceiverClosed => {
                // SAFETY: it was written above and nobody else was given it.
                let value = with_value.then(|| unsafe { cell.take_value() });
                // SAFETY: the sender touches the cell no more.
                unsafe { free_if_both_left(cell.state.leave_sender(), this) };
                Err(value)
            }
        }
    }

    /// Receiver: takes the result if there is one, and leaves.
    ///
    /// `owner` is the receiver's own reference. It is cleared before user code runs, the drop of the last
    /// waker: the receiver must not reach the freed cell again.
    ///
    /// # Safety
    /// Only the receiver may call this. `owner` must hold its reference, and the receiver must not have
    /// left; after `Ready` it has.
    #[inline]
    pub(super) unsafe fn try_receive(owner: &mut Option<CellRef<T>>) -> Poll<Option<T>> {
        // SAFETY: it holds the reference, by contract.
        let this = unsafe { owner.unwrap_unchecked() };
        // SAFETY: the receiver has not left, so the cell is live.
        let cell = unsafe { this.as_ref() };
        let state = cell.state.load();
        if !state.is_done() && !state.is_closed() {
            return Poll::Pending;
        }
        // SAFETY: what was sent is the receiver's, and taken only here or in `drop_receiver`, once.
        let value = state.is_sent().then(|| unsafe { cell.take_value() });
        *owner = None;
        // SAFETY: the receiver touches the cell no more.
        unsafe { free_if_both_left(cell.state.leave_receiver(), this) };
        Poll::Ready(value)
    }

    /// Receiver: leaves its waker for the sender. False if the sender was done first.
    ///
    /// # Safety
    /// Only for the receiver, which has neither left nor closed.
    pub(super) unsafe fn register_rx_waker(&self, waker: &Waker) -> bool {
        let mut old = None;
        if self.state.load().has_rx_waker() {
            // SAFETY: the receiver filled the slot, as the bit says, which only it sets.
            if unsafe { self.rx_waker.would_wake(waker) } {
                return true;
            }
            let fresh = waker.clone();
            if self.state.withdraw_rx_waker().is_done() {
                return false;
            }
            // SAFETY: withdrawn in time, so it is ours again.
            old = Some(unsafe { self.rx_waker.take() });
            // SAFETY: now it is empty.
            unsafe { self.rx_waker.put(fresh) };
        } else {
            // SAFETY: without the bit the slot is empty and the receiver's.
            unsafe { self.rx_waker.put(waker.clone()) };
        }
        let registered = !self.state.publish_rx_waker().is_done();
        // SAFETY: the sender was done before it could see the waker.
        let unseen = (!registered).then(|| unsafe { self.rx_waker.take() });
        drop((old, unseen));
        registered
    }

    /// Sender: leaves its waker for the receiver. False if the receiver closed first.
    ///
    /// # Safety
    /// Only for the sender, which has not left.
    pub(super) unsafe fn register_tx_waker(&self, waker: &Waker) -> bool {
        let mut old = None;
        if self.state.load().has_tx_waker() {
            // SAFETY: the sender filled the slot, as the bit says, which only it sets.
            if unsafe { self.tx_waker.would_wake(waker) } {
                return !self.state.load().is_closed();
            }
            let fresh = waker.clone();
            if self.state.withdraw_tx_waker().is_closed() {
                return false;
            }
            // SAFETY: withdrawn in time, so it is ours again.
            old = Some(unsafe { self.tx_waker.take() });
            // SAFETY: now it is empty.
            unsafe { self.tx_waker.put(fresh) };
        } else {
            // SAFETY: without the bit the slot is empty and the sender's.
            unsafe { self.tx_waker.put(waker.clone()) };
        }
        let registered = !self.state.publish_tx_waker().is_closed();
        // SAFETY: the receiver closed before it could see the waker.
        let unseen = (!registered).then(|| unsafe { self.tx_waker.take() });
        drop((old, unseen));
        registered
    }

    /// Receiver: closes. Returns its own waker, to be dropped, and the sender's, to be called.
    ///
    /// # Safety
    /// Only for the receiver, which has not left.
    pub(super) unsafe fn close(&self) -> (Option<Waker>, Option<Waker>) {
        let Closed::Now(state) = self.state.close() else {
            return (None, None);
        };
        // SAFETY: closed before the sender was done, so both are the receiver's now.
        unsafe {
            (
                state.has_rx_waker().then(|| self.rx_waker.take()),
                state.has_tx_waker().then(|| self.tx_waker.take()),
            )
        }
    }

    /// Receiver: is dropped without having taken the result.
    ///
    /// # Safety
    /// Only for the receiver, which has not left and leaves now.
    #[inline(never)]
    pub(super) unsafe fn drop_receiver(this: CellRef<T>) {
        // SAFETY: the receiver has not left, so the cell is live.
        let cell = unsafe { this.as_ref() };
        // SAFETY: as above.
        let (own_waker, sender_waker) = unsafe { cell.close() };
        // SAFETY: what was sent is the receiver's, and it was not taken.
        let value = cell.state.load().is_sent().then(|| unsafe { cell.take_value() });
        // SAFETY: the receiver touches the cell no more.
        unsafe { free_if_both_left(cell.state.leave_receiver(), this) };
        if let Some(waker) = sender_waker {
            waker.wake();
        }
        drop((own_waker, value));
    }

    /// # Safety
    /// The value must be in place and the caller's, which takes it once.
    unsafe fn take_value(&self) -> T {
        // SAFETY: by contract.
        self.value.with(|place| unsafe { (*place).assume_init_read() })
    }
}

/// Frees the cell if the caller was the last to leave, and drops a waker that the sender left there.
///
/// Contains the panic of that drop, since the caller may have a value in its hand.
///
/// # Safety
/// `left` must come from this cell's state. The caller must have forgotten the cell.
#[inline]
unsafe fn free_if_both_left<T>(left: EndsLeft, this: CellRef<T>) {
    if left == EndsLeft::One {
        return;
    }
    // SAFETY: both ends have left, so nobody else refers to it.
    let state = unsafe { this.as_ref() }.state.load();
    if state.has_tx_waker() && !state.is_closed() {
        // SAFETY: as above. Nobody took the waker, as `state.rs` says.
        unsafe { free_with_waker(this) };
    } else {
        // SAFETY: as above.
        unsafe { free(this) };
    }
}

/// # Safety
/// Nobody else may refer to the cell, in which there must be a waker of the sender's.
#[cold]
unsafe fn free_with_waker<T>(this: CellRef<T>) {
    // SAFETY: by contract.
    let waker = unsafe {
        let waker = this.as_ref().tx_waker.take();
        free(this);
        waker
    };
    contain_panic(|| drop(waker));
}

/// # Safety
/// Nobody else may refer to the cell, which must be empty.
#[inline]
unsafe fn free<T>(this: CellRef<T>) {
    // SAFETY: made by `allocate`; its fields are plain, but for the value and the wakers, which are gone.
    unsafe {
        this.drop_in_place();
        slab_alloc::free(this);
    }
}
