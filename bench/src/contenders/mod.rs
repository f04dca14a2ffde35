//! The contenders, one per file.

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

/// Returns the suite. The order is that of the columns in the tables.
pub fn suite() -> Suite {
    Suite {
        contenders: vec![
            wakeful::multi_thread(),
            wakeful::current_thread(),
            unwatched::multi_thread(),
            tokio::multi_thread(),
            tokio::current_thread(),
            smol::multi_thread(),
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

    /// Cases that are measured without a baseline: Tokio does not detect stalls.
    const ABSOLUTE: [&str; 2] = ["crowded/stalls_8w", "crowded/stopped_8w"];

    #[test]
    fn baselines_have_every_case_of_their_contenders() {
        let suite = suite();
        for contender in &suite.contenders {
            let Some(baseline) = contender.baseline else { continue };
            let baseline = suite.contender(baseline).expect("a baseline is a contender itself");
            for case in contender.cases().iter().filter(|case| !ABSOLUTE.contains(&case.name)) {
                let known = baseline.case(case.name).is_some();
                assert!(known, "{} lacks {}", baseline.name, case.name);
            }
        }
    }
}
