//! The order in which samples are taken.

use crate::child::{self, SampleRequest};
use crate::cli::RunOptions;
use crate::cpu_group::CpuGroup;
use crate::measure::Scale;
use crate::placement::Placement;
use crate::progress::Progress;
use crate::results::{self, Row};
use crate::suite::{Case, Contender};
use std::time::{Duration, Instant};

/// A sample that takes longer counts as hung.
const SAMPLE_LIMIT: Duration = Duration::from_secs(20);

/// After this time, a case starts no further round.
const CASE_BUDGET: Duration = Duration::from_secs(30);

/// A contender whose samples take longer, beyond what they take by design, skips the rounds after the second, to leave time to the
/// others.
const SLOW_SAMPLE: Duration = Duration::from_millis(2500);

/// The results of one case, and what is missing.
pub struct CaseOutcome<'a> {
    pub rows: Vec<Row<'a>>,
    /// Contenders that crashed, hung, or returned no figures.
    pub failures: Vec<String>,
    /// Cases that are skipped, or have fewer rounds than planned.
    pub notes: Vec<String>,
}

pub fn run_case<'a>(
    case: &'a Case,
    contenders: &[&'a Contender],
    options: &RunOptions,
    placement: &mut Placement,
    progress: &mut Progress,
) -> CaseOutcome<'a> {
    let able = |contender: &&&Contender| contender.case(case.name).is_some();
    let mut live: Vec<&Contender> = contenders.iter().filter(able).copied().collect();
    let planned = match (options.rounds, options.scale) {
        (Some(rounds), _) => rounds,
        (None, Scale::Quick) => 1,
        (None, Scale::Full) => case.rounds,
    };
    let mut outcome = CaseOutcome { rows: Vec::new(), failures: Vec::new(), notes: Vec::new() };
    if let Some(why) = not_possible(case) {
        outcome.notes.push(format!("{}: skipped. {why}", case.name));
        progress.case_done(case.name, Duration::ZERO);
        return outcome;
    }
    // An explicit number of rounds is kept, however long they take.
    let may_shorten = options.rounds.is_none();
    let begun = Instant::now();
    for round in 0..planned {
        if may_shorten && begun.elapsed() > CASE_BUDGET {
            outcome.notes.push(format!("{}: {round} of {planned} rounds, time used up", case.name));
            break;
        }
        for contender in turn_order(&live, round) {
            let entry = format!("{}: {}", case.name, contender.name);
            progress.sample_begins(case.name, contender.name, round + 1, planned);
            let request = SampleRequest {
                contender: contender.name,
                case: case.name,
                scale: options.scale,
                workers: options.workers,
                has_quota: case.has_quota,
            };
            let (taken, took) = placement.sample(|| {
                let begun = Instant::now();
                let taken = child::sample(&request, SAMPLE_LIMIT);
                (taken, begun.elapsed())
            });
            let mut sits_out = false;
            match taken {
                Ok(sample) => {
                    results::record(&mut outcome.rows, case, contender, sample);
                    let done = round + 1;
                    let slow = took > SLOW_SAMPLE + case.takes;
                    if may_shorten && slow && (2..planned).contains(&done) {
                        outcome.notes.push(format!("{entry}: {done} of {planned} rounds, slow"));
                        sits_out = true;
                    }
                }
                Err(why) => {
                    outcome.failures.push(format!("{entry}: {why}"));
                    sits_out = true;
                }
            }
            if sits_out {
                live.retain(|other| other.name != contender.name);
            }
        }
    }
    progress.case_done(case.name, begun.elapsed());
    outcome
}

/// Returns why this machine cannot run the case, or `None` if it can.
fn not_possible(case: &Case) -> Option<String> {
    if !case.has_quota {
        return None;
    }
    let why = CpuGroup::make().err()?;
    Some(format!("This machine does not permit a CPU quota ({why})"))
}

/// Each round starts with another contender, so that none always follows the same one in the same
/// place.
fn turn_order<'a>(live: &[&'a Contender], round: usize) -> Vec<&'a Contender> {
    let mut order = live.to_vec();
    if !order.is_empty() {
        order.rotate_left(round % live.len());
    }
    order
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_round_starts_from_another_contender() {
        let (a, b, c) =
            (Contender::new("a", &[]), Contender::new("b", &[]), Contender::new("c", &[]));
        let names = |round| -> String {
            let order = turn_order(&[&a, &b, &c], round);
            order.iter().map(|contender| contender.name).collect()
        };
        assert_eq!([names(0), names(1), names(2), names(3)], ["abc", "bca", "cab", "abc"]);
        assert!(turn_order(&[], 1).is_empty());
    }
}
