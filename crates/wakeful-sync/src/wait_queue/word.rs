//! The queue's word, as a value.

const LOCKED: u64 = 1 << 0;
const WAITING: u64 = 1 << 1;
const FLAG: u64 = 1 << 2;
const ROUND_SHIFT: u32 = 3;
const ONE_ROUND: u64 = 1 << ROUND_SHIFT;

/// What the queue's word said at some moment.
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

    /// Only to be trusted in a word from [`WaitQueue::settled`].
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

    /// Whether the step from `before` to this word is one that all may go by who wait.
    pub(super) fn releases_from(self, before: Word) -> bool {
        self.round() != before.round() || self.flag() && !before.flag()
    }

    /// Whether a waiter that came in `round` still has to wait.
    pub(super) fn keeps_waiting(self, round: Round) -> bool {
        self.round() == round && !self.flag()
    }
}

/// A count of rounds; wraps around after 2⁶¹.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Round(u64);

impl Round {
    /// The round that every queue begins with.
    pub(crate) const FIRST: Round = Round(0);

    const MASK: u64 = u64::MAX >> ROUND_SHIFT;

    pub(crate) fn plus(self, rounds: u64) -> Round {
        Round(self.0.wrapping_add(rounds) & Self::MASK)
    }

    pub(crate) fn minus(self, rounds: u64) -> Round {
        Round(self.0.wrapping_sub(rounds) & Self::MASK)
    }

    /// How many rounds have passed since `earlier`.
    pub(crate) fn since(self, earlier: Round) -> u64 {
        self.minus(earlier.0).0
    }

    /// Whether this round comes before `other`, the two being less than half of all rounds apart.
    pub(crate) fn is_before(self, other: Round) -> bool {
        other != self && other.since(self) <= Self::MASK / 2
    }

    /// The place of this round in a ring of `mask + 1` slots.
    pub(crate) fn slot(self, mask: usize) -> usize {
        self.0 as usize & mask
    }
}
