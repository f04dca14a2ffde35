//! A hierarchical timer wheel: coarse for far deadlines, exact for near ones.
//!
//! Time is in nanoseconds. The wheel is at a **position**. Timers after it are in slots:
//!
//! ```text
//!   level 0   64 slots of 131 µs   the rest of these 8.4 ms
//!   level 1   64 slots of 8.4 ms   the rest of this 0.5 s
//!   level 2   64 slots of 0.5 s    the rest of these 34 s
//!     …
//!   level 7   all that 64 bits can hold
//! ```
//!
//! A timer is in the level of the highest group of six bits in which its deadline differs from the
//! position. Inserting and removing therefore take the same few steps for any number of timers.
//! When the position reaches a slot, the slot's timers move down a level or more. Those of a slot
//! of level 0 move to the **near** heap, which yields them in the order of their deadlines, to the
//! nanosecond. Timers with the same deadline come out first in, first out.
//!
//! Slots and the heap store each timer's deadline next to the pointer to its node, in contiguous
//! memory. Moving the timers of a slot down thus does not wait for the memory of each node, as
//! lists through the nodes would (see bench/NOTES.md: timer wheel).
//!
//! A timer in the near heap is only marked when it is removed, and leaves the heap at its deadline:
//! at most the width of a slot later, if the position keeps up with the clock.

use std::cell::Cell;
use std::cmp::Ordering;
use std::collections::BinaryHeap;
use std::ptr::NonNull;
use wakeful_base::prefetch::prefetch;

/// The width of a slot of level 0, as a power of two: 131 µs.
const SLOT_BITS: u32 = 17;

/// The number of slots of a level, as a power of two.
const LEVEL_BITS: u32 = 6;
const SLOTS: usize = 1 << LEVEL_BITS;

/// The number of levels that 64 bits need.
const LEVELS: usize = (u64::BITS - SLOT_BITS).div_ceil(LEVEL_BITS) as usize;

/// Bounds the search for a slot's earliest timer. For a fuller slot, `next_ns` returns the time at
/// which the slot begins.
const SCAN_MAX: usize = 64;

/// The capacity that an empty slot keeps for its next timers.
const SLOT_CAPACITY_KEPT: usize = 32;

/// How many timers ahead nodes are prefetched while the timers of a slot move down.
const PREFETCH_AHEAD: usize = 8;

/// The wheel's part of a timer, to be embedded in the timer's own type.
#[derive(Debug)]
pub struct TimerNode {
    place: Cell<NodePlace>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum NodePlace {
    /// In no wheel.
    Nowhere,
    /// At position `index` of a slot.
    Slot {
        level: u8,
        slot: u8,
        index: u32,
    },
    Near,
    /// In the near heap, but removed.
    NearRemoved,
}

impl TimerNode {
    /// Creates the node of a timer that is in no wheel.
    pub const fn new() -> TimerNode {
        TimerNode { place: Cell::new(NodePlace::Nowhere) }
    }

    /// Returns whether a wheel refers to the node.
    pub fn is_held(&self) -> bool {
        self.place.get() != NodePlace::Nowhere
    }
}

impl Default for TimerNode {
    fn default() -> Self {
        TimerNode::new()
    }
}

/// Timers ordered by deadline.
#[derive(Debug)]
pub struct Wheel {
    position_ns: u64,
    levels: Box<[Level; LEVELS]>,
    near: BinaryHeap<HeldTimer>,
    /// The number of timers ever inserted.
    inserts: u64,
}

#[derive(Debug)]
struct Level {
    /// One bit for each slot that has timers.
    occupied: u64,
    slots: [WheelSlot; SLOTS],
}

/// A timer in a slot or in the near heap. Its node is live, and records the place.
#[derive(Debug, Clone, Copy)]
struct HeldTimer {
    deadline_ns: u64,
    /// Orders timers with the same deadline by insertion.
    order: u64,
    node: NonNull<TimerNode>,
}

/// Timers in no particular order.
#[derive(Debug, Default)]
struct WheelSlot(Vec<HeldTimer>);

// SAFETY: the wheel owns no nodes. The contracts of its methods say which thread may access them.
unsafe impl Send for Wheel {}

impl HeldTimer {
    fn set_place(&self, place: NodePlace) {
        // SAFETY: a node that the wheel holds is live.
        unsafe { self.node.as_ref() }.place.set(place);
    }
}

impl PartialEq for HeldTimer {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for HeldTimer {}

impl PartialOrd for HeldTimer {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for HeldTimer {
    /// Makes the earliest timer the greatest, since a `BinaryHeap` yields the greatest first.
    fn cmp(&self, other: &Self) -> Ordering {
        (other.deadline_ns, other.order).cmp(&(self.deadline_ns, self.order))
    }
}

impl Level {
    fn push(&mut self, level: u8, slot: u8, timer: HeldTimer) {
        let timers = &mut self.slots[usize::from(slot)].0;
        let index = u32::try_from(timers.len()).expect("a slot holds fewer than 2^32 timers");
        timer.set_place(NodePlace::Slot { level, slot, index });
        timers.push(timer);
        self.occupied |= 1 << slot;
    }

    /// Removes the timer at the place that its node records. The last timer of the slot takes that
    /// place.
    fn remove(&mut self, level: u8, slot: u8, index: u32) {
        let timers = &mut self.slots[usize::from(slot)].0;
        timers.swap_remove(index as usize);
        if let Some(moved) = timers.get(index as usize) {
            moved.set_place(NodePlace::Slot { level, slot, index });
        }
        if timers.capacity() > SLOT_CAPACITY_KEPT.max(4 * timers.len()) {
            timers.shrink_to(2 * timers.len());
        }
        if timers.is_empty() {
            self.occupied &= !(1 << slot);
        }
    }

    /// Removes all timers of a slot.
    fn take(&mut self, slot: usize) -> Vec<HeldTimer> {
        self.occupied &= !(1 << slot);
        std::mem::take(&mut self.slots[slot].0)
    }

    /// Returns the emptied buffer of a slot to it.
    fn reuse_capacity(&mut self, slot: usize, mut buffer: Vec<HeldTimer>) {
        if buffer.capacity() <= SLOT_CAPACITY_KEPT {
            buffer.clear();
            self.slots[slot].0 = buffer;
        }
    }
}

/// A timer that comes out of the wheel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Popped {
    /// Its deadline has passed.
    Due(NonNull<TimerNode>),
    /// It was removed before, and the wheel has just released it.
    Released(NonNull<TimerNode>),
}

impl Wheel {
    /// Creates an empty wheel at `position_ns`.
    pub fn new(position_ns: u64) -> Wheel {
        let level = |_| Level { occupied: 0, slots: [const { WheelSlot(Vec::new()) }; SLOTS] };
        // Through a vector, since a boxed array would be built on the stack, 12 KB, and moved.
        let levels: Vec<Level> = (0..LEVELS).map(level).collect();
        Wheel {
            position_ns,
            levels: levels.try_into().expect("there are `LEVELS` levels"),
            near: BinaryHeap::new(),
            inserts: 0,
        }
    }

    /// Inserts a timer. If its deadline has passed, the next `pop` yields it.
    ///
    /// # Safety
    /// The node must be live, in no wheel, and stay in place until the wheel has released it.
    pub unsafe fn insert(&mut self, node: NonNull<TimerNode>, deadline_ns: u64) {
        // SAFETY: by contract.
        let timer = unsafe { node.as_ref() };
        debug_assert!(!timer.is_held(), "a timer can be in one wheel only, once");
        self.place(HeldTimer { deadline_ns, order: self.inserts, node });
        self.inserts += 1;
    }

    fn place(&mut self, timer: HeldTimer) {
        let (slot_no, here) = (timer.deadline_ns >> SLOT_BITS, self.position_ns >> SLOT_BITS);
        if slot_no <= here {
            timer.set_place(NodePlace::Near);
            self.near.push(timer);
            return;
        }
        let level = (slot_no ^ here).ilog2() / LEVEL_BITS;
        let slot = (slot_no >> (level * LEVEL_BITS)) as usize % SLOTS;
        self.levels[level as usize].push(level as u8, slot as u8, timer);
    }

    /// Inserts a timer, or moves it to another deadline if it is in the wheel already.
    ///
    /// Equivalent to removing and inserting it. A timer that stays in its slot, such as one that is
    /// often postponed by a little, also keeps its index in the slot. Returns false if it was in
    /// the near heap: it is then removed, and will be yielded as [`Popped::Released`].
    ///
    /// # Safety
    /// The node must be live, in this wheel or in none, and stay in place until the wheel has
    /// released it.
    #[inline]
    #[must_use]
    pub unsafe fn reinsert(&mut self, node: NonNull<TimerNode>, deadline_ns: u64) -> bool {
        // SAFETY: by contract.
        if let NodePlace::Slot { level, slot, index } = unsafe { node.as_ref() }.place.get() {
            let timers = &mut self.levels[usize::from(level)].slots[usize::from(slot)].0;
            let timer = &mut timers[index as usize];
            if (timer.deadline_ns ^ deadline_ns) >> slot_shift(level.into()) == 0 {
                *timer = HeldTimer { deadline_ns, order: self.inserts, node };
                self.inserts += 1;
                return true;
            }
        }
        // SAFETY: by contract.
        let is_out = unsafe { self.remove(node) };
        if is_out {
            // SAFETY: by contract; the node is in no wheel now.
            unsafe { self.insert(node, deadline_ns) };
        }
        is_out
    }

    /// Removes a timer, if it is in the wheel.
    ///
    /// Returns true if the wheel has released it. Otherwise it will be yielded as
    /// [`Popped::Released`].
    ///
    /// # Safety
    /// The node must be live, and in this wheel or in none.
    pub unsafe fn remove(&mut self, node: NonNull<TimerNode>) -> bool {
        // SAFETY: by contract.
        let timer = unsafe { node.as_ref() };
        match timer.place.get() {
            NodePlace::Nowhere => true,
            NodePlace::Near | NodePlace::NearRemoved => {
                timer.place.set(NodePlace::NearRemoved);
                false
            }
            NodePlace::Slot { level, slot, index } => {
                self.levels[usize::from(level)].remove(level, slot, index);
                timer.place.set(NodePlace::Nowhere);
                true
            }
        }
    }

    /// Moves the position forward to `now_ns`, and removes the earliest timer due by then.
    ///
    /// To be called until it returns `None`. A clock that goes backwards does not move the position
    /// back.
    pub fn pop(&mut self, now_ns: u64) -> Option<Popped> {
        // Timers that are due by the position are in the near heap already.
        if now_ns > self.position_ns {
            self.advance(now_ns);
        }
        if self.near.peek()?.deadline_ns > now_ns {
            return None;
        }
        let node = self.near.pop()?.node;
        // SAFETY: a node in the heap is live.
        let was = unsafe { node.as_ref() }.place.replace(NodePlace::Nowhere);
        Some(if was == NodePlace::NearRemoved { Popped::Released(node) } else { Popped::Due(node) })
    }

    /// Moves the position forward to `now_ns`, and moves down all timers whose slot begins by then.
    fn advance(&mut self, now_ns: u64) {
        while let Some((level, slot, start_ns)) = self.next_slot() {
            if start_ns > now_ns {
                break;
            }
            self.position_ns = start_ns;
            let timers = self.levels[level].take(slot);
            for (index, timer) in timers.iter().enumerate() {
                if let Some(later) = timers.get(index + PREFETCH_AHEAD) {
                    prefetch(later.node.as_ptr().cast(), 1);
                }
                self.place(*timer);
            }
            self.levels[level].reuse_capacity(slot, timers);
        }
        self.position_ns = now_ns;
    }

    /// Returns level, slot and beginning of the next slot that has timers.
    fn next_slot(&self) -> Option<(usize, usize, u64)> {
        // All timers of a lower level come before those of a higher one.
        let level = self.levels.iter().position(|level| level.occupied != 0)?;
        let shift = slot_shift(level as u32);
        // The slots up to the position's own one in this level are empty.
        let slot = self.levels[level].occupied.trailing_zeros() as usize;
        // The bits above this level are those of the position.
        let above = self.position_ns.checked_shr(shift + LEVEL_BITS).unwrap_or(0);
        let above = above.checked_shl(shift + LEVEL_BITS).unwrap_or(0);
        Some((level, slot, above | (slot as u64) << shift))
    }

    /// Returns when the wheel needs attention next, or `None` if there are no timers.
    ///
    /// That is the earliest deadline, or a time before it at which timers have to move down.
    pub fn next_ns(&self) -> Option<u64> {
        if let Some(near) = self.near.peek() {
            return Some(near.deadline_ns);
        }
        let (level, slot, start_ns) = self.next_slot()?;
        if level > 0 {
            return Some(start_ns);
        }
        let timers = &self.levels[0].slots[slot].0;
        if timers.len() > SCAN_MAX {
            return Some(start_ns);
        }
        timers.iter().map(|timer| timer.deadline_ns).min()
    }

    /// Returns whether the wheel holds no timer, not even a removed one in the near heap.
    pub fn is_empty(&self) -> bool {
        self.near.is_empty() && self.levels.iter().all(|level| level.occupied == 0)
    }

    /// Returns the time up to which the wheel has yielded all due timers.
    pub fn position_ns(&self) -> u64 {
        self.position_ns
    }

    /// Removes one timer, due or not, for the end of a runtime.
    pub fn pop_any(&mut self) -> Option<Popped> {
        self.pop(u64::MAX)
    }
}

/// Returns the width of a slot of `level`, as a power of two. Deadlines in one slot differ in lower
/// bits only.
fn slot_shift(level: u32) -> u32 {
    SLOT_BITS + level * LEVEL_BITS
}

#[cfg(all(test, not(wakeful_loom)))]
mod tests;
