//! A hierarchical timer wheel: coarse where it can be, exact where it counts.
//!
//! Time is in nanoseconds. The wheel stands at a **position**; timers behind it are in slots:
//!
//! ```text
//!   level 0   64 slots of 131 µs   the rest of these 8.4 ms
//!   level 1   64 slots of 8.4 ms   the rest of this 0.5 s
//!   level 2   64 slots of 0.5 s    the rest of these 34 s
//!     …
//!   level 7   all that 64 bits can hold
//! ```
//!
//! A timer lies in the level of the highest group of six bits in which its deadline differs from the
//! position, so that inserting and removing one takes the same few steps however many there are. When
//! the position reaches a slot, its timers move down a level or more; those of a slot of level 0 move
//! to the **near** heap, which gives them out in the order of their deadlines, to the nanosecond; those
//! of one deadline come first in, first out.
//!
//! Slots and heap keep a timer's deadline beside the pointer to its node, one after another: to move a slot's
//! timers down nobody has to wait for the memory of each. (Lists through the nodes took 0.1 µs more per timer.)
//!
//! A timer in the near heap is removed by a mark only, and leaves the heap when its time comes: at most
//! a slot's width later, if the position keeps up with the clock.

use std::cell::Cell;
use std::cmp::Ordering;
use std::collections::BinaryHeap;
use std::ptr::NonNull;
use wakeful_base::prefetch::prefetch;

/// Width of a slot of level 0, as a power of two: 131 µs.
const SLOT_BITS: u32 = 17;

/// Slots of a level, as a power of two.
const LEVEL_BITS: u32 = 6;
const SLOTS: usize = 1 << LEVEL_BITS;

/// Enough for all 64 bits.
const LEVELS: usize = (u64::BITS - SLOT_BITS).div_ceil(LEVEL_BITS) as usize;

/// In a slot with more timers than that nobody looks for the earliest.
const SCAN_MAX: usize = 64;

/// Room for so many timers stays with a slot that has none.
const ROOM_KEPT: usize = 32;

/// So far ahead, in timers, their nodes are asked for while a slot's move down.
const AHEAD: usize = 8;

/// A timer, as the wheel sees it. Lives in whatever it is a timer of.
#[derive(Debug)]
pub struct TimerNode {
    place: Cell<NodePlace>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum NodePlace {
    /// In no wheel.
    Nowhere,
    /// The `index`-th in a slot.
    Slot {
        level: u8,
        slot: u8,
        index: u32,
    },
    Near,
    /// In the near heap, but not wanted any more.
    NearRemoved,
}

impl TimerNode {
    /// A timer in no wheel.
    pub const fn new() -> TimerNode {
        TimerNode { place: Cell::new(NodePlace::Nowhere) }
    }

    /// Whether a wheel still refers to it.
    pub fn is_held(&self) -> bool {
        self.place.get() != NodePlace::Nowhere
    }
}

impl Default for TimerNode {
    fn default() -> Self {
        TimerNode::new()
    }
}

/// Timers in order of their deadlines.
#[derive(Debug)]
pub struct Wheel {
    position_ns: u64,
    levels: Box<[Level; LEVELS]>,
    near: BinaryHeap<HeldTimer>,
    /// Timers that were ever put in.
    inserts: u64,
}

#[derive(Debug)]
struct Level {
    /// A bit for each slot that has timers.
    occupied: u64,
    slots: [WheelSlot; SLOTS],
}

/// A timer in a slot or in the near heap. The node is live, and says in which.
#[derive(Debug, Clone, Copy)]
struct HeldTimer {
    deadline_ns: u64,
    /// Who came first, among those of one deadline.
    order: u64,
    node: NonNull<TimerNode>,
}

/// Timers in no order.
#[derive(Debug, Default)]
struct WheelSlot(Vec<HeldTimer>);

// SAFETY: the wheel owns no node; who may touch them is settled by the contracts of its methods.
unsafe impl Send for Wheel {}

impl HeldTimer {
    fn set_place(&self, place: NodePlace) {
        // SAFETY: what is held is live.
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
    /// The earliest is the greatest: `BinaryHeap` gives that out first.
    fn cmp(&self, other: &Self) -> Ordering {
        (other.deadline_ns, other.order).cmp(&(self.deadline_ns, self.order))
    }
}

impl Level {
    fn push(&mut self, level: u8, slot: u8, timer: HeldTimer) {
        let timers = &mut self.slots[usize::from(slot)].0;
        let index = u32::try_from(timers.len()).expect("a slot has room for four billion timers");
        timer.set_place(NodePlace::Slot { level, slot, index });
        timers.push(timer);
        self.occupied |= 1 << slot;
    }

    /// Takes a timer out of the place that its node names. Another takes that place.
    fn remove(&mut self, level: u8, slot: u8, index: u32) {
        let timers = &mut self.slots[usize::from(slot)].0;
        timers.swap_remove(index as usize);
        if let Some(moved) = timers.get(index as usize) {
            moved.set_place(NodePlace::Slot { level, slot, index });
        }
        if timers.capacity() > ROOM_KEPT.max(4 * timers.len()) {
            timers.shrink_to(2 * timers.len());
        }
        if timers.is_empty() {
            self.occupied &= !(1 << slot);
        }
    }

    /// Takes all timers out of a slot.
    fn take(&mut self, slot: usize) -> Vec<HeldTimer> {
        self.occupied &= !(1 << slot);
        std::mem::take(&mut self.slots[slot].0)
    }

    /// Gives the room back that the timers of a slot had.
    fn put_room(&mut self, slot: usize, mut room: Vec<HeldTimer>) {
        if room.capacity() <= ROOM_KEPT {
            room.clear();
            self.slots[slot].0 = room;
        }
    }
}

/// What a timer that came out of the wheel is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Popped {
    /// Its time has come.
    Due(NonNull<TimerNode>),
    /// It was removed before, and the wheel has let go of it just now.
    Released(NonNull<TimerNode>),
}

impl Wheel {
    /// An empty wheel at `position_ns`.
    pub fn new(position_ns: u64) -> Wheel {
        let level = |_| Level { occupied: 0, slots: [const { WheelSlot(Vec::new()) }; SLOTS] };
        // By way of a vector: an array in a box would be made on the stack, 12 KB, and moved.
        let levels: Vec<Level> = (0..LEVELS).map(level).collect();
        Wheel {
            position_ns,
            levels: levels.try_into().expect("there are as many"),
            near: BinaryHeap::new(),
            inserts: 0,
        }
    }

    /// Puts a timer in. One whose time has passed comes out at the next look.
    ///
    /// # Safety
    /// The node must be live, in no wheel, and stay in place until the wheel has let go of it.
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

    /// Puts a timer in, or if it is in, elsewhere: as to remove and insert it, but one that stays in its
    /// slot, as those do that are put off often and by little, stays where it is in there. False if it was
    /// in the near heap: it is removed then, and will be given back as [`Popped::Released`].
    ///
    /// # Safety
    /// The node must be live, in this wheel or in none, and stay in place until the wheel has let go of it.
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
            // SAFETY: by contract, and it is in no wheel.
            unsafe { self.insert(node, deadline_ns) };
        }
        is_out
    }

    /// Takes a timer out, if it is in. True if the wheel has let go of it; else it will be given back as
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

    /// Moves the position to `now_ns`, unless it is there (a clock that went back does not take it with it),
    /// and gives out one timer that is due by then, the earliest first.
    /// To be called until there are none.
    pub fn pop(&mut self, now_ns: u64) -> Option<Popped> {
        // What is due by the position is in the near heap already.
        if now_ns > self.position_ns {
            self.advance(now_ns);
        }
        if self.near.peek()?.deadline_ns > now_ns {
            return None;
        }
        let node = self.near.pop()?.node;
        // SAFETY: what is in the heap is live.
        let was = unsafe { node.as_ref() }.place.replace(NodePlace::Nowhere);
        Some(if was == NodePlace::NearRemoved { Popped::Released(node) } else { Popped::Due(node) })
    }

    /// Moves every timer whose slot begins by `now_ns` down, and the position, which is before that, there.
    fn advance(&mut self, now_ns: u64) {
        while let Some((level, slot, start_ns)) = self.next_slot() {
            if start_ns > now_ns {
                break;
            }
            self.position_ns = start_ns;
            let timers = self.levels[level].take(slot);
            for (index, timer) in timers.iter().enumerate() {
                if let Some(later) = timers.get(index + AHEAD) {
                    prefetch(later.node.as_ptr().cast(), 1);
                }
                self.place(*timer);
            }
            self.levels[level].put_room(slot, timers);
        }
        self.position_ns = now_ns;
    }

    /// Level, slot and beginning of the next slot that has timers.
    fn next_slot(&self) -> Option<(usize, usize, u64)> {
        // What is in a lower level comes before all of a higher one.
        let level = self.levels.iter().position(|level| level.occupied != 0)?;
        let shift = slot_shift(level as u32);
        // Slots behind the position's own in this level: those up to it are empty.
        let slot = self.levels[level].occupied.trailing_zeros() as usize;
        // The bits above this level are those of the position.
        let above = self.position_ns.checked_shr(shift + LEVEL_BITS).unwrap_or(0);
        let above = above.checked_shl(shift + LEVEL_BITS).unwrap_or(0);
        Some((level, slot, above | (slot as u64) << shift))
    }

    /// When something is to be done: the earliest deadline, or a time before it at which timers have to
    /// be looked at more closely. None if there are no timers.
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

    /// Whether no timer is in the wheel, removed ones in the near heap aside.
    pub fn is_empty(&self) -> bool {
        self.near.is_empty() && self.levels.iter().all(|level| level.occupied == 0)
    }

    /// Up to where the wheel has given out what is due.
    pub fn position_ns(&self) -> u64 {
        self.position_ns
    }

    /// Takes one timer out, due or not: for the end of a runtime.
    pub fn pop_any(&mut self) -> Option<Popped> {
        self.pop(u64::MAX)
    }
}

/// Width of a slot of `level`, as a power of two. Deadlines of one slot differ in lower bits only.
fn slot_shift(level: u32) -> u32 {
    SLOT_BITS + level * LEVEL_BITS
}

#[cfg(all(test, not(wakeful_loom)))]
mod tests;
