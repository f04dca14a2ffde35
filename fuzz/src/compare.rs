//! Runs a script on both subjects and compares the logs.

use std::cell::Cell;
use std::panic::{self, AssertUnwindSafe, catch_unwind};
use std::sync::Once;

use crate::log::{Log, Note};
use crate::script::{Family, Place, Script, Subject};
use crate::value::Value;
use crate::wakers;

/// The first outcome that differs between the subjects.
#[derive(Clone, Debug)]
pub struct Difference {
    /// The number of the step, from 0. The step after the last one drops everything that is left.
    pub step: usize,
    /// What Wakeful's run logged there.
    pub wakeful: String,
    /// What Tokio's run logged there.
    pub tokio: String,
}

/// Compares scripts, and reuses the memory of the logs.
#[derive(Default)]
pub struct Comparer {
    wakeful: Log,
    tokio: Log,
}

impl Comparer {
    /// Returns whether a script has the same outcome on both subjects.
    pub fn is_same<F: Family>(&mut self, script: &Script<F>) -> bool {
        run(Subject::Wakeful, script, &mut self.wakeful);
        run(Subject::Tokio, script, &mut self.tokio);
        self.wakeful.is_same(&self.tokio)
    }
}

/// Runs a script on both subjects again, and returns the first difference with its description.
pub fn difference<F: Family>(script: &Script<F>) -> Option<Difference> {
    let (mut wakeful, mut tokio) = (Log::described(), Log::described());
    run(Subject::Wakeful, script, &mut wakeful);
    run(Subject::Tokio, script, &mut tokio);
    if wakeful.is_same(&tokio) {
        return None;
    }
    let [our, their] = wakeful.first_difference(&tokio);
    let step = our.or(their).map_or(0, |note| note.step);
    Some(Difference { step: step.saturating_sub(1), wakeful: shown(our), tokio: shown(their) })
}

fn shown(note: Option<&Note>) -> String {
    note.map_or_else(
        || "no further outcome".to_owned(),
        |note| format!("{}: {}", note.what, note.text),
    )
}

/// Runs operations on both subjects, for tests.
///
/// # Panics
/// Panics if the outcomes differ.
#[track_caller]
pub fn check<F: Family>(place: Place, size: u8, ops: &[F]) {
    let script = Script { place, size, ops: ops.to_vec() };
    if let Some(Difference { step, wakeful, tokio }) = difference(&script) {
        let op = ops.get(step).map_or_else(|| "the end".to_owned(), |op| format!("{op:?}"));
        panic!("step {step}, {op}:\n  Wakeful: {wakeful}\n  Tokio:   {tokio}");
    }
}

fn run<F: Family>(subject: Subject, script: &Script<F>, log: &mut Log) {
    log.clear();
    wakers::reset();
    Value::reset();
    let panicked = quietly(|| F::run(subject, script, log));
    wakers::finish();
    log.begin_step();
    log.note("panicked at the end", &panicked);
    log.note("woken at the end", &wakers::called_by_turn());
    log.note("values left", &Value::alive());
    log.note("wakers left", &wakers::alive());
}

thread_local! {
    static IS_QUIET: Cell<bool> = const { Cell::new(false) };
}

/// Calls `f` and returns whether it panicked. Panics of this thread are not printed meanwhile,
/// because scripts panic on purpose.
fn quietly(f: impl FnOnce()) -> bool {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let loud = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            if !IS_QUIET.get() {
                loud(info);
            }
        }));
    });
    IS_QUIET.set(true);
    let panicked = catch_unwind(AssertUnwindSafe(f)).is_err();
    IS_QUIET.set(false);
    panicked
}
