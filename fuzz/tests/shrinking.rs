//! Tests that a planted difference is found, shrunk and printed.

use wakeful_fuzz::Log;
use wakeful_fuzz::compare::{Comparer, difference};
use wakeful_fuzz::families::fuzz;
use wakeful_fuzz::script::{Family, Place, Script, Subject, random_script};
use wakeful_fuzz::shrink::shrink;

wakeful_fuzz::operations! {
    4 Put { number },
    2 Take,
    2 Look { which },
}

/// A stack that loses a number on one subject, if it is at least 3 and pushed as the third.
impl Family for Op {
    const NAME: &'static str = "planted";
    const PLACES: &'static [Place] = &[Place::Bare, Place::BlockOn];

    fn wakes_in_order(_: u8) -> bool {
        true
    }

    fn run(subject: Subject, script: &Script<Self>, log: &mut Log) {
        let mut stack = Vec::new();
        for &op in &script.ops {
            log.begin_step();
            match op {
                Op::Turn | Op::SpendBudget { .. } => {}
                Op::Put { number } => {
                    let is_lost = subject == Subject::Wakeful && number >= 3 && stack.len() == 2;
                    stack.extend((!is_lost).then_some(number));
                }
                Op::Take => log.note("taken", &stack.pop()),
                Op::Look { which } => {
                    let at = usize::from(which) % stack.len().max(1);
                    log.note("seen", &stack.get(at));
                }
            }
        }
    }
}

#[test]
fn scripts_shrink_to_the_operations_that_differ() {
    let mut comparer = Comparer::default();
    let mut found = 0;
    for seed in 0..200 {
        let script = random_script::<Op>(seed, 200);
        if comparer.is_same(&script) {
            continue;
        }
        found += 1;
        let small = shrink(script, |script| !comparer.is_same(script));
        let Script { place, size, ops } = &small;
        assert_eq!((*place, *size, ops.len()), (Place::Bare, 0, 4), "{small:?}");
        assert_eq!(ops[..3], [Op::Put { number: 0 }, Op::Put { number: 0 }, Op::Put { number: 3 }]);
        assert!(matches!(ops[3], Op::Take | Op::Look { which: 2 }), "{small:?}");
        assert_eq!(difference(&small).map(|difference| difference.step), Some(3));
    }
    assert!(found > 50, "the difference was found in {found} of 200 scripts only");
}

#[test]
fn a_difference_is_printed_as_a_test() {
    let mut comparer = Comparer::default();
    let report = (0..200).find_map(|seed| fuzz::<Op>(&mut comparer, seed, 200).err());
    let report = report.expect("a difference was planted");
    assert!(report.contains("Wakeful: ") && report.contains("Tokio: "), "{report}");
    assert!(report.contains("use wakeful_fuzz::scripts::planted::Op::*;"), "{report}");
    let put = "            Put { number: 0 },\n            Put { number: 0 },\n            Put { number: 3 },\n";
    assert!(report.contains(put), "{report}");
}
