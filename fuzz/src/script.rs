//! Scripts: operations as data, so that a script can be shrunk and printed.
//!
//! An operand picks an item by its remainder, so every part of a script is a valid script.

use std::fmt::Debug;

use crate::log::Log;
use crate::random::Random;

/// Where a script runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// Outside a runtime.
    Bare,
    /// In `block_on` of a current-thread runtime, with a budget and a paused clock.
    BlockOn,
    /// In `LocalSet::block_on` of such a runtime.
    InLocalSet,
}

/// One of the two libraries that are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Subject {
    /// This project.
    Wakeful,
    /// The reference.
    Tokio,
}

/// A script on one family of types.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Script<O> {
    /// Where it runs.
    pub place: Place,
    /// A capacity or a similar number; the family decides.
    pub size: u8,
    /// The operations, in order.
    pub ops: Vec<O>,
}

/// An operation of a family, declared with [`operations!`](crate::operations).
pub trait Operation: Copy + Debug + PartialEq + 'static {
    /// How often each kind occurs, as weights.
    const WEIGHTS: &'static [usize];
    /// The operation that returns to the executor once, which gives the task a new budget. It does
    /// nothing outside a runtime.
    const TURN: Self;

    /// Returns how many units of the task's budget this operation uses up, if that is its purpose.
    fn spends(self) -> Option<usize>;

    /// Creates an operation of the given kind with random operands.
    fn random(kind: usize, random: &mut Random) -> Self;

    /// Returns its operands, for the shrinker to lower.
    fn operands(&mut self) -> Vec<&mut u8>;
}

/// A family of types, with an interpreter for both subjects.
pub trait Family: Operation {
    /// The name of its modules.
    const NAME: &'static str;
    /// Where its scripts may run.
    const PLACES: &'static [Place];
    /// Returns whether both subjects call the wakers of one operation in the same order, in scripts
    /// of this size.
    fn wakes_in_order(size: u8) -> bool;

    /// Runs a script and logs the outcomes.
    fn run(subject: Subject, script: &Script<Self>, log: &mut Log);
}

/// Creates a random script of at most `ops_max` operations.
pub fn random_script<F: Family>(seed: u64, ops_max: usize) -> Script<F> {
    let mut random = Random::new(seed);
    // Each script has weights of its own: without some kinds of operations, others get further.
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

/// Declares the operations of a family: the weight, the name, and the operands of each.
#[macro_export]
macro_rules! operations {
    ($($(#[$doc:meta])* $weight:literal $name:ident $({ $($operand:ident),* })?,)*) => {
        /// An operation of this family. Kinds without a comment are named after the call that they
        /// make.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[allow(missing_docs)]
        pub enum Op {
            /// Returns to the executor once. Does nothing outside a runtime.
            Turn,
            /// Uses up nearly all of a full budget, or what is left of it. Does nothing outside a
            /// runtime.
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
