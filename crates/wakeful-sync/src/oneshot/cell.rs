//! The memory that both ends of a oneshot channel share, and which end may touch which part of it.
//!
//! - `value` belongs to the sender until `SENT`, then to the receiver.
//! - `rx_waker` belongs to the receiver while `RX_WAKER` is not set. While it is set, both ends may
//!   read it; `state.rs` says which of them may take it.
//! - `tx_waker`: the same for the sender and `TX_WAKER`.
//!
//! Calling or dropping wakers and values runs user code. So they are first moved out of the cell,
//! then the state is updated, and only then are they called or dropped. A panic in one of them
//! leaves nothing half done.

use std::mem::MaybeUninit;
use std::ptr::NonNull;
use std::task::{Poll, Waker};

use wakeful_base::catch_panic::contain_panic;
use wakeful_base::on_unwind::hold_during;
use wakeful_base::slab_alloc;
use wakeful_base::sync::UnsafeCell;

use super::state::{Closed, EndsLeft, Finished, OneshotState};

pub(super) struct ChannelCell<T> {
    pub(super) state: OneshotState,
    value: UnsafeCell<MaybeUninit<T>>,
    rx_waker: WakerSlot,
    tx_waker: WakerSlot,
}

/// A place for a waker. The state says whether it is full.
struct WakerSlot(UnsafeCell<MaybeUninit<Waker>>);

impl WakerSlot {
    fn empty() -> Self {
        WakerSlot(UnsafeCell::new(MaybeUninit::uninit()))
    }

    /// # Safety
    /// The slot must be empty, and the caller the only end that touches it.
    unsafe fn put(&self, waker: Waker) {
        // SAFETY: by contract no other thread touches the slot.
        self.0.with_mut(|slot| unsafe { (*slot).write(waker) });
    }

    /// # Safety
    /// The slot must be full, and the state must have given its waker to the caller, which takes it
    /// only once.
    unsafe fn take(&self) -> Waker {
        // SAFETY: the slot is full by contract. The end that filled it may still be comparing the
        // waker in `would_wake`, so this only reads.
        self.0.with(|slot| unsafe { (*slot).assume_init_read() })
    }

    /// # Safety
    /// The caller must be the end that has filled the slot.
    unsafe fn would_wake(&self, waker: &Waker) -> bool {
        // SAFETY: the slot is filled by contract. If the other end takes the waker at the same
        // time, its bits stay in the slot: `take` only reads, and only the caller writes the slot.
        // `will_wake` compares only the data pointer and the vtable pointer, so it does not matter
        // if the waker has been dropped.
        self.0.with(|slot| unsafe { (*slot).assume_init_ref() }.will_wake(waker))
    }
}

/// One end's reference to the cell. Each end leaves the cell exactly once, and must not touch it
/// afterwards. The end that leaves last frees the cell.
pub(super) type CellRef<T> = NonNull<ChannelCell<T>>;

impl<T> ChannelCell<T> {
    pub(super) fn allocate() -> CellRef<T> {
        let cell = slab_alloc::allocate();
        // SAFETY: `cell` is a fresh allocation of a `ChannelCell<T>` that nothing else refers to.
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

    /// Sender: sends `value`, or with `None` says that nothing will be sent, and leaves the cell.
    ///
    /// # Safety
    /// The caller must be the sender, which has not left the cell before.
    #[inline]
    pub(super) unsafe fn finish(this: CellRef<T>, value: Option<T>) -> Result<(), Option<T>> {
        // SAFETY: the sender has not left, by contract, and the cell lives until both ends have
        // left.
        let cell = unsafe { this.as_ref() };
        let with_value = value.is_some();
        if let Some(value) = value {
            // SAFETY: the value belongs to the sender until `SENT`, which it sets only below.
            cell.value.with_mut(|place| unsafe { (*place).write(value) });
        }
        match cell.state.finish(with_value) {
            Finished::SenderLeft => Ok(()),
            // SAFETY: `finish` did not return `SenderLeft`, so the sender has not left the cell; it
            // leaves with this call.
            finished => unsafe { Self::finish_slow(this, finished, with_value) },
        }
    }

    /// Does the rest of [`finish`](Self::finish), if the state transition was not all.
    ///
    /// # Safety
    /// As for `finish`. `finished` must be what the state's `finish` returned.
    #[inline(never)]
    unsafe fn finish_slow(
        this: CellRef<T>,
        finished: Finished,
        with_value: bool,
    ) -> Result<(), Option<T>> {
        // SAFETY: the sender has not left, by contract, and the cell lives until both ends have
        // left.
        let cell = unsafe { this.as_ref() };
        match finished {
            Finished::SenderLeft => Ok(()),
            Finished::ReceiverWaits => {
                // SAFETY: the transition to `DONE` saw `RX_WAKER`, so the waker is the sender's to
                // take.
                let waker = unsafe { cell.rx_waker.take() };
                // SAFETY: the result comes from this cell's state, and the sender does not touch
                // the cell afterwards.
                unsafe { free_if_both_left(cell.state.leave_sender(), this) };
                waker.wake();
                Ok(())
            }
            Finished::ReceiverClosed => {
                // SAFETY: `finish` has written the value. `SENT` is not set, so the value is still
                // the sender's.
                let value = with_value.then(|| unsafe { cell.take_value() });
                // SAFETY: the result comes from this cell's state, and the sender does not touch
                // the cell afterwards.
                unsafe { free_if_both_left(cell.state.leave_sender(), this) };
                Err(value)
            }
        }
    }

    /// Receiver: takes the result if there is one, and leaves the cell.
    ///
    /// `owner` is the receiver's own reference. It is cleared before user code runs (the drop of a
    /// waker that the sender left in the cell), so that this code cannot reach the freed cell
    /// through the receiver.
    ///
    /// # Safety
    /// The caller must be the receiver, and `owner` its reference, which must be `Some`: the
    /// receiver has not left the cell. After `Ready` it has.
    #[inline]
    pub(super) unsafe fn try_receive(owner: &mut Option<CellRef<T>>) -> Poll<Option<T>> {
        // SAFETY: `owner` is `Some`, by contract.
        let this = unsafe { owner.unwrap_unchecked() };
        // SAFETY: the receiver has not left, by contract, and the cell lives until both ends have
        // left.
        let cell = unsafe { this.as_ref() };
        let state = cell.state.load();
        if !state.is_done() && !state.is_closed() {
            return Poll::Pending;
        }
        // SAFETY: `SENT` is set, so the value is the receiver's. It is taken only here and in
        // `drop_receiver`, and the receiver leaves the cell in both.
        let value = state.is_sent().then(|| unsafe { cell.take_value() });
        *owner = None;
        // SAFETY: the result comes from this cell's state, and the receiver does not touch the cell
        // afterwards.
        unsafe { free_if_both_left(cell.state.leave_receiver(), this) };
        Poll::Ready(value)
    }

    /// Receiver: registers its waker. Returns false if the sender finished first.
    ///
    /// # Safety
    /// The caller must be the receiver, which has neither left the cell nor closed the channel.
    pub(super) unsafe fn register_rx_waker(&self, waker: &Waker) -> bool {
        let mut old = None;
        if self.state.load().has_rx_waker() {
            // SAFETY: `RX_WAKER` is set, and only the receiver sets it, after it has filled the
            // slot.
            if unsafe { self.rx_waker.would_wake(waker) } {
                return true;
            }
            let fresh = waker.clone();
            if self.state.withdraw_rx_waker().is_done() {
                return false;
            }
            // SAFETY: the sender had not finished when the bit was cleared, so the waker is still
            // the receiver's.
            old = Some(unsafe { self.rx_waker.take() });
            // SAFETY: the waker was just taken, so the slot is empty, and without the bit it is the
            // receiver's.
            unsafe { self.rx_waker.put(fresh) };
        } else {
            // SAFETY: while `RX_WAKER` is not set, the slot is empty and the receiver's.
            unsafe { self.rx_waker.put(waker.clone()) };
        }
        let registered = !self.state.publish_rx_waker().is_done();
        // SAFETY: the sender finished before the bit was set, so it did not see the waker, and the
        // waker is still the receiver's.
        let unseen = (!registered).then(|| unsafe { self.rx_waker.take() });
        drop(hold_during(unseen, |_| drop(old)));
        registered
    }

    /// Sender: registers its waker. Returns false if the receiver closed first.
    ///
    /// # Safety
    /// The caller must be the sender, which has not left the cell.
    pub(super) unsafe fn register_tx_waker(&self, waker: &Waker) -> bool {
        let mut old = None;
        if self.state.load().has_tx_waker() {
            // SAFETY: `TX_WAKER` is set, and only the sender sets it, after it has filled the slot.
            if unsafe { self.tx_waker.would_wake(waker) } {
                return !self.state.load().is_closed();
            }
            let fresh = waker.clone();
            if self.state.withdraw_tx_waker().is_closed() {
                return false;
            }
            // SAFETY: the receiver had not closed when the bit was cleared, so the waker is still
            // the sender's.
            old = Some(unsafe { self.tx_waker.take() });
            // SAFETY: the waker was just taken, so the slot is empty, and without the bit it is the
            // sender's.
            unsafe { self.tx_waker.put(fresh) };
        } else {
            // SAFETY: while `TX_WAKER` is not set, the slot is empty and the sender's.
            unsafe { self.tx_waker.put(waker.clone()) };
        }
        let registered = !self.state.publish_tx_waker().is_closed();
        // SAFETY: the receiver closed before the bit was set, so it did not see the waker, and the
        // waker is still the sender's.
        let unseen = (!registered).then(|| unsafe { self.tx_waker.take() });
        drop(hold_during(unseen, |_| drop(old)));
        registered
    }

    /// Receiver: closes the channel. Returns its own waker, for the caller to drop, and the
    /// sender's, for the caller to wake.
    ///
    /// # Safety
    /// The caller must be the receiver, which has not left the cell.
    pub(super) unsafe fn close(&self) -> (Option<Waker>, Option<Waker>) {
        let Closed::Now(state) = self.state.close() else {
            return (None, None);
        };
        // SAFETY: this call has set `CLOSED` before the sender finished. So the receiver's waker is
        // still its own, and the sender's waker, if the bit was set by then, is the receiver's to
        // take.
        unsafe {
            (
                state.has_rx_waker().then(|| self.rx_waker.take()),
                state.has_tx_waker().then(|| self.tx_waker.take()),
            )
        }
    }

    /// Receiver: leaves the cell without having taken the result, because it is dropped.
    ///
    /// # Safety
    /// The caller must be the receiver, which has not left the cell. It leaves the cell with this
    /// call.
    #[inline(never)]
    pub(super) unsafe fn drop_receiver(this: CellRef<T>) {
        // SAFETY: the receiver has not left, by contract, and the cell lives until both ends have
        // left.
        let cell = unsafe { this.as_ref() };
        // SAFETY: as above; the caller is the receiver, which has not left.
        let (own_waker, sender_waker) = unsafe { cell.close() };
        // SAFETY: `SENT` is set, so the value is the receiver's, which has not taken it.
        let value = cell.state.load().is_sent().then(|| unsafe { cell.take_value() });
        // SAFETY: the result comes from this cell's state, and the receiver does not touch the cell
        // afterwards.
        unsafe { free_if_both_left(cell.state.leave_receiver(), this) };
        // At most one of the two is present: the own waker was taken only if the sender has not
        // finished, and the value only if it has.
        drop(hold_during((own_waker, value), |_| {
            if let Some(waker) = sender_waker {
                waker.wake();
            }
        }));
    }

    /// # Safety
    /// The value must be in the cell and belong to the caller, which takes it only once.
    unsafe fn take_value(&self) -> T {
        // SAFETY: by contract the value is in the cell, and the caller takes it only once.
        self.value.with(|place| unsafe { (*place).assume_init_read() })
    }
}

/// Frees the cell if the caller was the last end to leave, and drops the waker that the sender left
/// there, if any.
///
/// Contains a panic of that drop, since the caller may hold a value that it has to return.
///
/// # Safety
/// `left` must come from this cell's state. The caller must not touch the cell afterwards.
#[inline]
unsafe fn free_if_both_left<T>(left: EndsLeft, this: CellRef<T>) {
    if left == EndsLeft::One {
        return;
    }
    // SAFETY: both ends have left, and the caller was the last, so it has exclusive access.
    let state = unsafe { this.as_ref() }.state.load();
    if state.has_tx_waker() && !state.is_closed() {
        // SAFETY: exclusive access, as above. `TX_WAKER` is set and `CLOSED` is not, so by
        // `state.rs` the sender's waker is still in its slot.
        unsafe { free_with_waker(this) };
    } else {
        // SAFETY: exclusive access, as above. No waker is left, and the value has been taken by the
        // receiver, or by the sender if the receiver closed first.
        unsafe { free(this) };
    }
}

/// # Safety
/// Nothing else may refer to the cell, and the sender's slot must be full.
#[cold]
unsafe fn free_with_waker<T>(this: CellRef<T>) {
    // SAFETY: by contract nothing else refers to the cell, and the slot is full. The waker is moved
    // out before the cell is freed.
    let waker = unsafe {
        let waker = this.as_ref().tx_waker.take();
        free(this);
        waker
    };
    contain_panic(|| drop(waker));
}

/// # Safety
/// Nothing else may refer to the cell, which must have been made by `allocate` and hold no value
/// and no waker.
#[inline]
unsafe fn free<T>(this: CellRef<T>) {
    // SAFETY: the cell comes from `allocate`, and nothing refers to it, by contract. Dropping the
    // fields does not drop the value or the wakers, which are `MaybeUninit` and have been moved
    // out.
    unsafe {
        this.drop_in_place();
        slab_alloc::free(this);
    }
}
