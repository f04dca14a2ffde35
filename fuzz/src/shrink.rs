//! Shrinks a script while it still fails: fewer operations, smaller operands, a simpler place.

use crate::script::{Family, Script};

/// How many scripts are tried at most. A script of several hundred operations needs a few thousand.
const TRIES_MAX: usize = 50_000;

/// Below this, each smaller number is tried: what an operand picks depends on the number of items.
const SMALL: u8 = 16;
/// Up to this length, each pair of operations is tried.
const PAIRS_MAX: usize = 60;

/// Returns a small script for which `fails` is true. It must be true for `script`.
pub fn shrink<F: Family>(script: Script<F>, fails: impl FnMut(&Script<F>) -> bool) -> Script<F> {
    let mut shrinking = Shrinking { best: script, fails, tries: 0 };
    loop {
        let before = shrinking.best.clone();
        shrinking.simplify_place();
        shrinking.remove_ops();
        shrinking.remove_pairs();
        shrinking.lower_operands();
        if shrinking.best == before || shrinking.tries >= TRIES_MAX {
            return shrinking.best;
        }
    }
}

struct Shrinking<F, Fails> {
    best: Script<F>,
    fails: Fails,
    tries: usize,
}

impl<F: Family, Fails: FnMut(&Script<F>) -> bool> Shrinking<F, Fails> {
    /// Keeps a smaller script if it fails, too.
    fn attempt(&mut self, smaller: Script<F>) -> bool {
        self.tries += 1;
        let is_better = self.tries <= TRIES_MAX && (self.fails)(&smaller);
        if is_better {
            self.best = smaller;
        }
        is_better
    }

    /// Places are listed from the simplest one.
    fn simplify_place(&mut self) {
        for &place in F::PLACES {
            if place == self.best.place || self.attempt(Script { place, ..self.best.clone() }) {
                return;
            }
        }
    }

    /// Removes halves, then quarters, down to single operations. It starts at the end, because
    /// later operations depend on earlier ones.
    fn remove_ops(&mut self) {
        let mut count = self.best.ops.len().div_ceil(2);
        while count > 0 {
            let mut end = self.best.ops.len();
            while end > 0 {
                let begin = end.saturating_sub(count);
                let mut smaller = self.best.clone();
                smaller.ops.drain(begin..end);
                self.attempt(smaller);
                end = begin;
            }
            count = if count == 1 { 0 } else { count.div_ceil(2) };
        }
    }

    /// Removes two operations at once: one that creates something, for example, and the one that
    /// drops it.
    fn remove_pairs(&mut self) {
        let mut first = 0;
        while self.best.ops.len() <= PAIRS_MAX && first + 1 < self.best.ops.len() {
            let without_pair = |second: usize| {
                let mut smaller = self.best.clone();
                smaller.ops.remove(second);
                smaller.ops.remove(first);
                smaller
            };
            let pairs: Vec<_> = (first + 1..self.best.ops.len()).map(without_pair).collect();
            if !pairs.into_iter().any(|smaller| self.attempt(smaller)) {
                first += 1;
            }
        }
    }

    fn lower_operands(&mut self) {
        self.lower(|script| Some(&mut script.size));
        for at in 0..self.best.ops.len() {
            for operand in 0..self.best.ops[at].operands().len() {
                self.lower(|script| script.ops[at].operands().into_iter().nth(operand));
            }
        }
    }

    /// Lowers a number in the script: tries the smallest numbers first, then half, then one less.
    fn lower(&mut self, number: impl Fn(&mut Script<F>) -> Option<&mut u8>) {
        loop {
            let Some(&mut now) = number(&mut self.best.clone()) else { return };
            let smaller = (0..now.min(SMALL)).chain([now / 2, now.saturating_sub(1)]);
            let is_lower = smaller.filter(|&value| value < now).any(|value| {
                let mut script = self.best.clone();
                number(&mut script).into_iter().for_each(|number| *number = value);
                self.attempt(script)
            });
            if !is_lower {
                return;
            }
        }
    }
}
