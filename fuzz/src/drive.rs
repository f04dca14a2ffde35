//! One step of a script, as all families take it.

use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::log::Log;
use crate::script::{Family, Script};
use crate::value::Value;
use crate::wakers;

/// Takes one step, and notes which wakers it called, what values are left, and whether it panicked.
pub fn step<F: Family>(
    script: &Script<F>,
    op: F,
    log: &mut Log,
    step: &mut impl FnMut(F, &mut Log),
) {
    log.begin_step();
    let panicked = catch_unwind(AssertUnwindSafe(|| step(op, log))).is_err();
    end_step(script, panicked, log);
}

/// Writes the notes that follow each step.
pub fn end_step<F: Family>(script: &Script<F>, panicked: bool, log: &mut Log) {
    if panicked {
        // Its text is not compared: texts of panics differ (docs/08-differences.md).
        log.note("panicked", &());
    }
    let mut woken = wakers::called();
    if !F::wakes_in_order(script.size) {
        woken.sort_unstable();
    }
    log.note("woken", &woken);
    log.note("values alive", &Value::alive());
}
