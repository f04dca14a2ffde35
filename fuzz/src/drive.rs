//! Runs one step of a script. All families use it.

use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::log::Log;
use crate::script::{Family, Script};
use crate::value::Value;
use crate::wakers;

/// Begins a step.
pub fn begin_step(budget_is_left: bool, log: &mut Log) {
    log.begin_step();
    wakers::begin_step(budget_is_left);
}

/// Runs one step, and logs which wakers it called, how many values are alive, and whether it
/// panicked.
pub fn step<F: Family>(
    script: &Script<F>,
    op: F,
    budget_is_left: bool,
    log: &mut Log,
    step: &mut impl FnMut(F, &mut Log),
) {
    begin_step(budget_is_left, log);
    let panicked = catch_unwind(AssertUnwindSafe(|| step(op, log))).is_err();
    end_step(script, panicked, log);
}

/// Writes the log entries that follow each step.
pub fn end_step<F: Family>(script: &Script<F>, panicked: bool, log: &mut Log) {
    if panicked {
        // The message is not compared: panic messages may differ (docs/08-differences.md).
        log.note("panicked", &());
    }
    let mut woken = wakers::end_step();
    if !F::wakes_in_order(script.size) {
        woken.sort_unstable();
    }
    log.note("woken", &woken);
    log.note("values alive", &Value::alive());
}
