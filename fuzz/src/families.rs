//! The list of families, and how a family is fuzzed.

use crate::compare::{Comparer, difference};
use crate::log::Log;
use crate::report;
use crate::script::{Family, Place, Script, Subject, random_script};
use crate::scripts;
use crate::shrink::shrink;
use crate::{on_tokio, on_wakeful};

/// A family without its type of operation.
pub struct AnyFamily {
    /// The name on the command line.
    pub name: &'static str,
    /// Compares the script of a seed. Returns its number of operations, or a report with the shrunk
    /// script.
    pub fuzz: fn(&mut Comparer, seed: u64, ops_max: usize) -> Result<usize, String>,
}

/// Runs the script of a seed on both subjects.
///
/// # Errors
/// Returns a report with the shrunk script if the outcomes differ.
pub fn fuzz<F: Family>(
    comparer: &mut Comparer,
    seed: u64,
    ops_max: usize,
) -> Result<usize, String> {
    let script = random_script::<F>(seed, ops_max);
    if comparer.is_same(&script) {
        return Ok(script.ops.len());
    }
    let is_different = |script: &Script<F>| !comparer.is_same(script);
    let small = shrink(script, is_different);
    Err(match difference(&small) {
        Some(difference) => report::as_test(&small, &difference, seed),
        None => format!(
            "seed {seed}: the outcome changes from run to run; the last script that differed: {small:?}"
        ),
    })
}

macro_rules! families {
    ($($family:ident: $($place:ident)|*; in order: $in_order:expr,)*) => {
        $(
            impl Family for scripts::$family::Op {
                const NAME: &'static str = stringify!($family);
                const PLACES: &'static [Place] = &[$(Place::$place),*];

                fn wakes_in_order(size: u8) -> bool {
                    let in_order: fn(u8) -> bool = $in_order;
                    in_order(size)
                }

                fn run(subject: Subject, script: &Script<Self>, log: &mut Log) {
                    match subject {
                        Subject::Wakeful => on_wakeful::runs::$family::run(script, log),
                        Subject::Tokio => on_tokio::runs::$family::run(script, log),
                    }
                }
            }
        )*

        /// All families.
        pub const FAMILIES: &[AnyFamily] = &[
            $(AnyFamily { name: stringify!($family), fuzz: fuzz::<scripts::$family::Op> },)*
        ];
    };
}

// Wake-ups are not compared in order where neither library promises the order: behind Tokio's
// `watch`, and the barrier built on it, receivers wait in one of several lists picked at random;
// tasks of a join set that were pending because the budget was used up; the reader and the writer
// that the drop of a duplex stream's end wakes. A barrier runs only without a runtime: its wait
// costs another share of the budget on Tokio, which builds it on `watch`.
families! {
    barrier: Bare; in order: |_| false,
    broadcast: Bare | BlockOn | InLocalSet; in order: |_| true,
    duplex: Bare | BlockOn | InLocalSet; in order: |_| false,
    joinset: BlockOn | InLocalSet; in order: |_| false,
    localset: Bare | BlockOn; in order: |_| false,
    mpsc: Bare | BlockOn | InLocalSet; in order: |_| true,
    mpsc_unbounded: Bare | BlockOn | InLocalSet; in order: |_| true,
    mutex: Bare | BlockOn | InLocalSet; in order: |_| true,
    notify: Bare | BlockOn | InLocalSet; in order: |_| true,
    once_cell: Bare | BlockOn | InLocalSet; in order: |_| true,
    oneshot: Bare | BlockOn | InLocalSet; in order: |_| true,
    rwlock: Bare | BlockOn | InLocalSet; in order: |_| true,
    semaphore: Bare | BlockOn | InLocalSet; in order: |_| true,
    set_once: Bare | BlockOn | InLocalSet; in order: |_| true,
    time: BlockOn; in order: |size| !scripts::time::resets_sleeps(size),
    watch: Bare | BlockOn | InLocalSet; in order: |_| false,
}
