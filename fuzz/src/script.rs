//! A script: operations as data, so that a failing one can be cut down and printed.
//!
//! An operand picks among what there is by its remainder, so each part of a script is a script too.

use std::fmt::Debug;

use crate::log::Log;
use crate::random::Random;

/// Where a script runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// Outside of any runtime.
    Bare,
    /// In `block_on` of a current-thread runtime, with a budget and a paused clock.
    BlockOn,
    /// In `LocalSet::block_on` of such a runtime.
    InLocalSet,
}

/// One of the two that are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Subject {
    /// This project's.
    Wakeful,
    /// The one whose behaviour counts.
    Tokio,
}

/// A script over one family of types.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Script<O> {
    /// Where it runs.
    pub place: Place,
    /// A capacity or a similar number, as the family needs it.
    pub size: u8,
    /// What it does, in order.
    pub ops: Vec<O>,
}

/// An operation of one family; written by [`operations!`](crate::operations).
pub trait Operation: Copy + Debug + PartialEq + 'static {
    /// How often each kind comes.
    const WEIGHTS: &'static [usize];
    /// Returns to the executor once, which gives the task a new budget. Does nothing outside of a runtime.
    const TURN: Self;

    /// How many units of the task's budget it takes away, if that is what it does.
    fn spends(self) -> Option<usize>;

    /// Makes one of the given kind.
    fn random(kind: usize, random: &mut Random) -> Self;

    /// Lends its operands, to be made smaller.
    fn operands(&mut self) -> Vec<&mut u8>;
}

/// A family of types and what its operations do on both subjects.
pub trait Family: Operation {
    /// The name of its modules.
    const NAME: &'static str;
    /// Where its scripts may run.
    const PLACES: &'static [Place];
    /// Tells whether wakers that one operation calls are called in the same order on both subjects, in scripts of a size.
    fn wakes_in_order(size: u8) -> bool;

    /// Runs a script, and notes what comes of it.
    fn run(subject: Subject, script: &Script<Self>, log: &mut Log);
}

/// Makes a random script of at most `ops_max` operations.
pub fn random_script<F: Family>(seed: u64, ops_max: usize) -> Script<F> {
    let mut random = Random::new(seed);
    // Each script has its own taste: without some kinds of operation others get further.
    let weights: Vec<usize> =
        F::WEIGHTS.iter().map(|&weight| weight * taste(&mut random)).collect();
    let sum: usize = weights.iter().sum();
    let place = F::PLACES[random.below(F::PLACES.len())];
    let size = random.operand();
    let len = if random.below(4) == 0 { ops_max } else { 1 + random.below(ops_max) };
    let mut op = || {
        if sum == 0 {
            return F::TURN;
        }
        let mut ticket = random.below(sum);
        let kind = weights.iter().position(|&weight| {
            let is_it = ticket < weight;
            ticket = ticket.wrapping_sub(weight);
            is_it
        });
        F::random(kind.expect("the ticket is less than the sum"), &mut random)
    };
    Script { place, size, ops: (0..len).map(|_| op()).collect() }
}

fn taste(random: &mut Random) -> usize {
    [0, 1, 2, 2, 2, 2, 3, 8][random.below(8)]
}

/// Declares the operations of a family: how often each comes, its name, and the names of its operands.
#[macro_export]
macro_rules! operations {
    ($($(#[$doc:meta])* $weight:literal $name:ident $({ $($operand:ident),* })?,)*) => {
        /// An operation of this family; kinds without a comment are named after the call that they make.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[allow(missing_docs)]
        pub enum Op {
            /// Returns to the executor once; nothing outside of a runtime.
            Turn,
            /// Takes nearly all of a full budget away, or the rest of it; nothing outside of a runtime.
            SpendBudget { count: u8 },
            $($(#[$doc])* $name $({ $($operand: u8),* })?,)*
        }

        impl $crate::script::Operation for Op {
            const WEIGHTS: &'static [usize] = &[2, 1 $(, $weight)*];
            const TURN: Op = Op::Turn;

            fn spends(self) -> Option<usize> {
                match self {
                    Op::SpendBudget { count } => Some(120 + usize::from(count % 16)),
                    _ => None,
                }
            }

            fn random(kind: usize, random: &mut $crate::random::Random) -> Op {
                let mut left = kind;
                if left == 0 {
                    return Op::Turn;
                }
                left -= 1;
                if left == 0 {
                    return Op::SpendBudget { count: random.operand() };
                }
                $(
                    left -= 1;
                    if left == 0 {
                        return Op::$name $({ $($operand: random.operand()),* })?;
                    }
                )*
                unreachable!("there is no kind {kind}")
            }

            fn operands(&mut self) -> Vec<&mut u8> {
                match self {
                    Op::Turn => Vec::new(),
                    Op::SpendBudget { count } => vec![count],
                    $(Op::$name $({ $($operand),* })? => vec![$($($operand),*)?],)*
                }
            }
        }
    };
}
