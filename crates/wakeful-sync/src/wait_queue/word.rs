//! The queue's atomic word, as a value. Its layout is described in `wait_queue.rs`.

const LOCKED: u64 = 1 << 0;
const WAITING: u64 = 1 << 1;
const FLAG: u64 = 1 << 2;
const ROUND_SHIFT: u32 = 3;
const ONE_ROUND: u64 = 1 << ROUND_SHIFT;

/// A value of the queue's word.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Word(pub(super) u64);

impl Word {
    pub(crate) const fn new(flag: bool) -> Self {
        Word(if flag { FLAG } else { 0 })
    }

    pub(crate) fn round(self) -> Round {
        Round(self.0 >> ROUND_SHIFT)
    }

    pub(crate) fn flag(self) -> bool {
        self.0 & FLAG != 0
    }

    /// Returns whether WAITING is set. Only valid in an unlocked word, such as one from
    /// [`load_unlocked`](super::WaitQueue::load_unlocked).
    pub(crate) fn has_waiters(self) -> bool {
        self.0 & WAITING != 0
    }

    pub(crate) fn with_flag(self, flag: bool) -> Self {
        Word(if flag { self.0 | FLAG } else { self.0 & !FLAG })
    }

    pub(crate) fn in_next_round(self) -> Self {
        Word(self.0.wrapping_add(ONE_ROUND))
    }

    pub(super) fn is_locked(self) -> bool {
        self.0 & LOCKED != 0
    }

    pub(super) fn locked(self) -> Self {
        Word(self.0 | LOCKED)
    }

    pub(super) fn unlocked(self, has_waiters: bool) -> Self {
        let rest = self.0 & !(LOCKED | WAITING);
        Word(if has_waiters { rest | WAITING } else { rest })
    }

    /// Returns whether the step from `before` to this word releases all waiters in the line.
    pub(super) fn releases_from(self, before: Word) -> bool {
        self.round() != before.round() || self.flag() && !before.flag()
    }

    /// Returns whether a waiter that came in `round` still has to wait.
    pub(super) fn must_wait(self, round: Round) -> bool {
        self.round() == round && !self.flag()
    }
}

/// The number of a round. Wraps around after 2⁶¹.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Round(u64);

impl Round {
    /// The round in which every queue begins.
    pub(crate) const FIRST: Round = Round(0);

    const MASK: u64 = u64::MAX >> ROUND_SHIFT;

    pub(crate) fn plus(self, rounds: u64) -> Round {
        Round(self.0.wrapping_add(rounds) & Self::MASK)
    }

    pub(crate) fn minus(self, rounds: u64) -> Round {
        Round(self.0.wrapping_sub(rounds) & Self::MASK)
    }

    /// Returns how many rounds have passed since `earlier`.
    pub(crate) fn since(self, earlier: Round) -> u64 {
        self.minus(earlier.0).0
    }

    /// Returns whether this round comes before `other`. The two must be less than half of all
    /// rounds apart.
    pub(crate) fn is_before(self, other: Round) -> bool {
        other != self && other.since(self) <= Self::MASK / 2
    }

    /// Returns the index of this round's slot in a ring of `mask + 1` slots.
    pub(crate) fn slot(self, mask: usize) -> usize {
        self.0 as usize & mask
    }
}
