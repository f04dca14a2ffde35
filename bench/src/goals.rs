//! Goals: the figures that Wakeful should reach, and whether a run reached them.

use crate::measure::Better;
use crate::results::Row;

/// The contender that should reach the goals.
pub const RUNNER: &str = "wakeful-mt";

/// A goal for one figure of a case. It was set on a slower machine, so it has a ratio to Tokio's
/// figure of then, too.
pub struct Goal {
    pub case: &'static str,
    pub metric: &'static str,
    /// The figure of Tokio's multi-thread runtime when the goal was set.
    tokio: f64,
    /// The figure that Wakeful should reach on the same machine.
    reach: f64,
    /// Whether the figures are in the unit of the case. If not, only their ratio counts.
    is_figure: bool,
}

#[rustfmt::skip]
pub const GOALS: &[Goal] = &[
    goal("sched/spawn_many",              "wall",          1053.0,  200.0),
    goal("sched/spawn_remote",            "wall",           923.0,  450.0),
    goal("sched/chained_spawn",           "wall",           400.0,  100.0),
    goal("sched/join_handles",            "wall",           548.0,  220.0),
    goal("sched/yield_many",              "wall",            55.0,   38.0),
    goal("sched/ping_pong_1",             "wall",           337.0,  220.0),
    goal("sched/ping_pong_1000",          "wall",           132.0,  100.0),
    goal("sync/mpsc_1to1",                "wall",           169.0,   55.0),
    goal("sync/mpsc_8to1",                "wall",           234.0,   80.0),
    goal("sync/mpsc_unbounded_8to1",      "wall",           198.0,   60.0),
    goal("sync/oneshot",                  "wall",            88.0,   36.0),
    goal("sync/notify",                   "wall",           377.0,  200.0),
    goal("sync/mutex_2",                  "wall",           264.0,  140.0),
    goal("sync/semaphore",                "wall",           732.0,  380.0),
    goal("sync/watch_1to8",               "wall",          3145.0, 1500.0),
    goal("timer/churn",                   "wall",           512.0,  100.0),
    goal("timer/fire_10k",                "p50",           1208.0,  100.0),
    goal("timer/fire_10k",                "p99",           2410.0,  500.0),
    goal("timer/fire_10k",                "CPU",              2.0,    2.0),
    ratio("tcp_echo/64c_64B",             "requests",         1.0,    1.3),
    ratio("tcp_echo/64c_64B",             "latency p99.9",    4.0,    1.0),
    ratio("http/hello_64c",               "requests",         1.0,   1.15),
    goal("blocking/uncontended",          "wall",        29_000.0, 15_000.0),
    goal("blocking/contended",            "wall",        10_600.0,  900.0),
    goal("file/seq_4k",                   "wall",        27_000.0, 1_000.0),
    goal("file/open_read_4k",             "wall",        30_000.0, 3_000.0),
    goal("mem/task_pending",              "resident",       315.0,  110.0),
    goal("mem/task_sleep",                "resident",       565.0,  250.0),
    goal("mem/task_notify",               "resident",       565.0,  250.0),
    goal("blocking_abuse/2_sleepers",     "p99",        209_000.0, 5_000.0),
];

const fn goal(case: &'static str, metric: &'static str, tokio: f64, reach: f64) -> Goal {
    Goal { case, metric, tokio, reach, is_figure: true }
}

const fn ratio(case: &'static str, metric: &'static str, tokio: f64, reach: f64) -> Goal {
    Goal { case, metric, tokio, reach, is_figure: false }
}

/// The outcome of a run for a goal.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Outcome {
    /// How many times as good as Tokio, and whether that is enough.
    pub ratio: (f64, bool),
    /// The figure, and whether it is good enough. `None` if only the ratio counts.
    pub figure: (f64, Option<bool>),
}

impl Goal {
    /// Returns how many times as good as Tokio the goal is.
    pub fn ratio(&self, better: Better) -> f64 {
        match better {
            Better::Higher => self.reach / self.tokio,
            Better::Lower | Better::Neither => self.tokio / self.reach,
        }
    }

    pub fn row<'r, 'a>(&self, rows: &'r [Row<'a>]) -> Option<&'r Row<'a>> {
        rows.iter().find(|row| row.case.name == self.case && row.metric == self.metric)
    }

    /// Returns the figure to reach, in the unit of the case, or `None` if only the ratio counts.
    pub fn figure(&self) -> Option<f64> {
        self.is_figure.then_some(self.reach)
    }

    /// Returns the outcome, or `None` if the run has no figure for it.
    pub fn outcome(&self, rows: &[Row]) -> Option<Outcome> {
        let row = self.row(rows)?;
        let (ratio, figure) = (row.ratio_of(RUNNER)?, row.cell(RUNNER)?.median());
        let is_as_good = |reach| match row.better {
            Better::Higher => figure >= reach,
            Better::Lower | Better::Neither => figure <= reach,
        };
        Some(Outcome {
            ratio: (ratio, ratio >= self.ratio(row.better)),
            figure: (figure, self.figure().map(is_as_good)),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measure::Metric;
    use crate::results::record;
    use crate::results::tests::case;
    use crate::suite::Contender;

    #[test]
    fn every_goal_has_a_case_of_its_runner() {
        let suite = crate::contenders::suite();
        let runner = suite.contender(RUNNER).unwrap();
        for goal in GOALS {
            assert!(runner.case(goal.case).is_some(), "{RUNNER} has no case {}", goal.case);
        }
    }

    #[test]
    fn a_goal_is_reached_by_the_ratio_to_tokio_and_by_the_figure() {
        let case = case();
        let goal = |metric| goal(case.name, metric, 100.0, 50.0);
        let outcome_of = |own: f64, tokio: f64| {
            let runner = Contender::new(RUNNER, &[]).against("tokio-mt");
            let baseline = Contender::new("tokio-mt", &[]);
            let wall = |value| vec![Metric::lower_is_better("wall", "ns/op", value)];
            let mut rows = Vec::new();
            record(&mut rows, &case, &runner, wall(own));
            record(&mut rows, &case, &baseline, wall(tokio));
            (goal("wall").outcome(&rows), goal("CPU").outcome(&rows))
        };
        let outcome = |ratio, figure| (Some(Outcome { ratio, figure }), None);
        assert_eq!(outcome_of(30.0, 60.0), outcome((2.0, true), (30.0, Some(true))));
        assert_eq!(outcome_of(40.0, 60.0), outcome((1.5, false), (40.0, Some(true))));
        assert_eq!(outcome_of(60.0, 120.0), outcome((2.0, true), (60.0, Some(false))));
    }

    #[test]
    fn for_rates_higher_is_better() {
        let goal = ratio("group/case", "requests", 1.0, 1.3);
        assert_eq!(goal.ratio(Better::Higher), 1.3);
        assert_eq!(goal.figure(), None);
    }
}
