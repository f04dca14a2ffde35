//! The contenders, one file each.

mod compio;
mod monoio;
mod smol;
mod thread_bound;
mod tokio;
mod tokio_shaped;
mod wakeful;

use crate::suite::Suite;

/// In the order of the table's columns.
pub fn suite() -> Suite {
    Suite {
        contenders: vec![
            wakeful::multi_thread(),
            wakeful::current_thread(),
            tokio::multi_thread(),
            tokio::current_thread(),
            smol::two_threads(),
            monoio::one_thread(),
            compio::one_thread(),
        ],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_baseline_is_a_contender_that_has_every_case() {
        let suite = suite();
        for baseline in suite.contenders.iter().filter_map(|contender| contender.baseline) {
            let baseline = suite.contender(baseline).expect("a baseline is a contender itself");
            for case in suite.catalogue() {
                assert!(
                    baseline.case(case.name).is_some(),
                    "{} lacks {}",
                    baseline.name,
                    case.name
                );
            }
        }
    }
}
