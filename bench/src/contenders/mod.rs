//! The contenders, one file each.

mod channels;
mod compio;
mod monoio;
mod smol;
mod std_files;
mod thread_bound;
mod tokio;
mod tokio_shaped;
mod tokio_shaped_servers;
mod tokio_shaped_sync;
mod unwatched;
mod wakeful;

use crate::suite::Suite;

/// In the order of the table's columns.
pub fn suite() -> Suite {
    Suite {
        contenders: vec![
            wakeful::multi_thread(),
            wakeful::current_thread(),
            unwatched::multi_thread(),
            tokio::multi_thread(),
            tokio::current_thread(),
            smol::two_threads(),
            monoio::one_thread(),
            compio::one_thread(),
            channels::tokio_sync(),
            channels::flume(),
            channels::kanal(),
            channels::tachyonix(),
            channels::async_channel(),
            channels::oneshot(),
            std_files::no_runtime(),
        ],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_baseline_has_every_case_of_those_it_is_compared_with() {
        let suite = suite();
        for contender in &suite.contenders {
            let Some(baseline) = contender.baseline else { continue };
            let baseline = suite.contender(baseline).expect("a baseline is a contender itself");
            for case in contender.cases() {
                let known = baseline.case(case.name).is_some();
                assert!(known, "{} lacks {}", baseline.name, case.name);
            }
        }
    }
}
