//! The figures Wakeful is to reach, as data, and whether a run reached them.

use crate::measure::Better;
use crate::results::Row;

/// Who is to reach them.
pub const RUNNER: &str = "wakeful-mt";

/// One figure of one case.
pub struct Goal {
    pub case: &'static str,
    pub metric: &'static str,
    /// What Tokio's multi-thread runtime did when the goal was set.
    tokio: f64,
    /// What Wakeful is to do where Tokio does that. Machines differ, so it is the ratio of the two that counts.
    reach: f64,
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
    goal("timer/churn",                   "wall",           512.0,  100.0),
    goal("timer/fire_10k",                "p50",           1208.0,  100.0),
    goal("timer/fire_10k",                "p99",           2410.0,  500.0),
    goal("timer/fire_10k",                "CPU",              2.0,    2.0),
    goal("tcp_echo/64c_64B",              "requests",         1.0,    1.3),
    goal("tcp_echo/64c_64B",              "latency p99.9",    4.0,    1.0),
    goal("http/hello_64c",                "requests",         1.0,   1.15),
    goal("blocking/uncontended",          "wall",        29_000.0, 15_000.0),
    goal("blocking/contended",            "wall",        10_600.0,  900.0),
    goal("file/seq_4k",                   "wall",        27_000.0, 1_000.0),
    goal("file/open_read_4k",             "wall",        30_000.0, 3_000.0),
    goal("mem/task_pending",              "resident",       315.0,  110.0),
    goal("mem/task_sleep",                "resident",       565.0,  250.0),
    goal("blocking_abuse/2_sleepers",     "p99",            209.0,    5.0),
];

const fn goal(case: &'static str, metric: &'static str, tokio: f64, reach: f64) -> Goal {
    Goal { case, metric, tokio, reach }
}

/// What a run has to say about a goal.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Outcome {
    Reached(f64),
    Missed(f64),
    NotMeasured,
}

impl Goal {
    /// How many times as good as Tokio to be.
    pub fn ratio(&self, better: Better) -> f64 {
        match better {
            Better::Higher => self.reach / self.tokio,
            Better::Lower | Better::Neither => self.tokio / self.reach,
        }
    }

    pub fn row<'r, 'a>(&self, rows: &'r [Row<'a>]) -> Option<&'r Row<'a>> {
        rows.iter().find(|row| row.case.name == self.case && row.metric == self.metric)
    }

    pub fn outcome(&self, rows: &[Row]) -> Outcome {
        let row = self.row(rows);
        let Some((row, ratio)) = row.and_then(|row| Some((row, row.ratio_of(RUNNER)?))) else {
            return Outcome::NotMeasured;
        };
        if ratio >= self.ratio(row.better) {
            Outcome::Reached(ratio)
        } else {
            Outcome::Missed(ratio)
        }
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
    fn every_goal_is_about_a_case_of_its_runner() {
        let suite = crate::contenders::suite();
        let runner = suite.contender(RUNNER).unwrap();
        for goal in GOALS {
            assert!(runner.case(goal.case).is_some(), "{RUNNER} has no case {}", goal.case);
        }
    }

    #[test]
    fn a_goal_is_reached_by_the_ratio_to_tokio() {
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
        assert_eq!(outcome_of(30.0, 60.0), (Outcome::Reached(2.0), Outcome::NotMeasured));
        assert_eq!(outcome_of(40.0, 60.0), (Outcome::Missed(1.5), Outcome::NotMeasured));
    }

    #[test]
    fn rates_are_to_be_higher() {
        let goal = goal("group/case", "requests", 1.0, 1.3);
        assert_eq!(goal.ratio(Better::Higher), 1.3);
    }
}
