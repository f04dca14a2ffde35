//! The results as Markdown, with a table for each group of cases.

use crate::goals::{self, GOALS};
use crate::load::{LATENCY_P50, LATENCY_P99, REQUESTS, SERVER_CPU};
use crate::measure::Better;
use crate::placement::Placement;
use crate::report::{PICTURE_FILE, Report};
use crate::results::{Cell, Row};
use crate::suite::{Case, Contender};
use crate::workers;
use std::fmt::Write;

pub const LEGEND: &str = "\
In brackets: how many times as good as Tokio of the same flavour (`wakeful-ct` beside `tokio-ct`, all others beside
`tokio-mt`); above 1 is better. The best figure of a row is bold. The last column names the best but Wakeful, and how
many times as good as that `wakeful-mt` and `wakeful-ct` are. `~` marks a spread over the rounds, largest to smallest,
above 1.5. CPU is the time of all threads of the process.
";

const GOALS_LEGEND: &str = "\
The figures were set beside Tokio's on a machine about half as fast, so each is given as a ratio as well; what bounds
those that are missed is in [NOTES.md](NOTES.md).
";

/// Ratios below this count as behind. Between it and 1, the printed ratio is rounded to `1.00x`.
const BEHIND: f64 = 0.995;

const TRADED: &str = "Behind Tokio in one figure, ahead by more in the one it is traded for";

/// Pairs of figures of which the first is the price of the second. A worker that spins instead of
/// sleeping answers more requests, and the spinning costs CPU time. If the number of outstanding
/// requests is constant, throughput determines the mean latency: if the slow requests wait less,
/// the others wait more.
const TRADES: [(&str, &str); 2] = [(SERVER_CPU, REQUESTS), (LATENCY_P50, LATENCY_P99)];

const LEVEL: &str = "Not told apart from Tokio (the ratio's bounds include 1)";

/// Returns a report of the whole run, to be kept as a file.
pub fn document(report: &Report) -> String {
    let mut text = String::from("# Results\n\n");
    let rounds = report.rounds.map_or(String::new(), |rounds| format!(" --rounds {rounds}"));
    let workers = match report.machine.workers {
        workers::DEFAULT => String::new(),
        workers => format!(" --workers {workers}"),
    };
    let _ = writeln!(
        text,
        "Written by `cargo run --release --manifest-path bench/Cargo.toml -- all{rounds}{workers} --write`; how it is measured, and\n\
         how to read it: [README.md](README.md).\n"
    );
    if report.quick {
        text += "**A quick run: these figures are not worth keeping.**\n\n";
    }
    let _ = writeln!(text, "{}.\n", report.machine);
    let _ = writeln!(text, "![How many times as good as Tokio]({PICTURE_FILE})\n");
    let _ = writeln!(text, "{}", summary(report));
    let _ = writeln!(text, "## All figures\n\n{LEGEND}");
    for group in report.cases.chunk_by(|a, b| a.group() == b.group()) {
        let _ = writeln!(text, "{}", table(group, &report.rows, &report.contenders));
    }
    text.trim_end().to_owned() + "\n"
}

/// Returns the summary of a run.
pub fn summary(report: &Report) -> String {
    let mut text = goals(&report.rows);
    let mut behind = Behind::default();
    for row in &report.rows {
        behind.add(row, &report.rows);
    }
    let parts = [
        ("Behind Tokio", &behind.surely),
        (TRADED, &behind.traded),
        (LEVEL, &behind.perhaps),
        ("Not measured", &report.failures),
        ("Notes", &report.notes),
    ];
    for (title, items) in parts {
        if !items.is_empty() {
            let _ = writeln!(text, "\n## {title}\n");
            text.extend(items.iter().map(|item| format!("- {item}\n")));
        }
    }
    let _ = writeln!(text, "\n{}", conditions(report));
    text
}

fn goals(rows: &[Row]) -> String {
    // A run of a few cases lists only their goals.
    let measured: Vec<_> = GOALS.iter().filter_map(|g| Some((g, g.row(rows)?))).collect();
    if measured.is_empty() {
        return String::new();
    }
    let mut text = format!("## Goals\n\nFor `{}`. {GOALS_LEGEND}\n", goals::RUNNER);
    text += "| case | metric | to reach | measured | beside Tokio, to reach | measured | |\n";
    text += "|---|---|---:|---:|---:|---:|---|\n";
    for (goal, row) in measured {
        let (case, metric, unit) = (goal.case, goal.metric, &row.unit);
        let reach = goal.figure().map_or("-".into(), |reach| format!("{} {unit}", figure(reach)));
        let reach_ratio = goal.ratio(row.better);
        let (measured, ratio, mark) = match goal.outcome(rows) {
            None => ("-".into(), "-".into(), "not measured"),
            Some(outcome) => {
                let mark = match (outcome.figure.1.unwrap_or(outcome.ratio.1), outcome.ratio.1) {
                    (true, true) => "reached",
                    (true, false) => "figure reached, ratio **missed**",
                    (false, true) => "ratio reached, figure **missed**",
                    (false, false) => "**missed**",
                };
                (figure(outcome.figure.0), format!("{:.2}x", outcome.ratio.0), mark)
            }
        };
        let _ = writeln!(
            text,
            "| {case} | {metric} | {reach} | {measured} | {reach_ratio:.2}x | {ratio} | {mark} |"
        );
    }
    text
}

/// The figures in which Wakeful is behind Tokio: a line for each row and flavour.
#[derive(Debug, Default, PartialEq)]
struct Behind {
    surely: Vec<String>,
    /// Figures that are the price of one of the [`TRADES`] that gains more.
    traded: Vec<String>,
    perhaps: Vec<String>,
}

impl Behind {
    fn add(&mut self, row: &Row, rows: &[Row]) {
        let beside = |metric| {
            rows.iter().find(|other| other.case.name == row.case.name && other.metric == metric)
        };
        // At a given pace there is no trade: the number of requests is fixed, and requests need not
        // wait for others.
        let is_paced = beside(REQUESTS).is_none_or(|requests| requests.better == Better::Neither);
        let bought = TRADES
            .iter()
            .find(|(price, _)| row.metric == *price && !is_paced)
            .and_then(|(_, bought)| beside(bought));
        for cell in row.cells.iter().filter(|cell| cell.contender.is_wakeful()) {
            let Some(ratio) = row.ratio(cell.contender).filter(|&ratio| ratio < BEHIND) else {
                continue;
            };
            let Some((low, high)) = row.ratio_bounds(cell.contender) else { continue };
            let (case, metric, name) = (row.case.name, &row.metric, cell.contender.name);
            let item = format!("{case}, {metric}: {name} {ratio:.2}x ({low:.2} to {high:.2})");
            let gain = bought.and_then(|bought| Some((bought, bought.ratio(cell.contender)?)));
            if high >= 1.0 {
                self.perhaps.push(item);
            } else if let Some((bought, gain)) = gain.filter(|(_, gain)| gain * ratio > 1.0) {
                self.traded.push(format!("{item}; {} {gain:.2}x", bought.metric));
            } else {
                self.surely.push(item);
            }
        }
    }
}

/// Returns the table of one group, which has these cases.
pub fn table(cases: &[&Case], rows: &[Row], contenders: &[&Contender]) -> String {
    let of_group = |row: &&Row| row.case.group() == cases[0].group();
    let rows: Vec<&Row> = rows.iter().filter(of_group).collect();
    let measured =
        |contender: &&&Contender| rows.iter().any(|row| row.cell(contender.name).is_some());
    let columns: Vec<&Contender> = contenders.iter().filter(measured).copied().collect();

    let mut text = format!("### {}\n\n", cases[0].group());
    for case in cases {
        let _ = writeln!(text, "- `{}`: {}.", case.name, case.about);
    }
    if rows.is_empty() {
        return text + "\nNo figures: `Not measured` or `Notes` says why.\n";
    }
    let names: String = columns.iter().map(|contender| format!(" {} |", contender.name)).collect();
    let _ = writeln!(text, "\n| case | metric |{names} best peer |");
    let _ = writeln!(text, "|---|---|{}---|", "---:|".repeat(columns.len()));
    for row in rows {
        let _ = write!(text, "| {} | {}, {} |", row.case.short_name(), row.metric, row.unit);
        for contender in &columns {
            let figure = row.cell(contender.name).map_or("-".into(), |cell| describe(row, cell));
            let _ = write!(text, " {figure} |");
        }
        let _ = writeln!(text, " {} |", describe_best_peer(row));
    }
    text
}

fn describe(row: &Row, cell: &Cell) -> String {
    let is_best = row.best().is_some_and(|best| best.name == cell.contender.name);
    let bold = if is_best { "**" } else { "" };
    let ratio = row.ratio(cell.contender).map_or(String::new(), |ratio| format!(" ({ratio:.2}x)"));
    format!("{}{bold}{}{bold}{ratio}", unsteady_mark(cell), figure(cell.median()))
}

/// Formats the best peer and its ratios, as in `smol (1.20x, 0.80x)`.
fn describe_best_peer(row: &Row) -> String {
    let Some(peer) = row.best_peer() else { return "-".into() };
    let ours = row.cells.iter().filter(|cell| cell.contender.is_wakeful());
    let ratios: Vec<String> = ours
        .filter_map(|cell| row.ratio_between(cell.contender.name, peer.name))
        .map(|ratio| format!("{ratio:.2}x"))
        .collect();
    format!("{} ({})", peer.name, ratios.join(", "))
}

fn unsteady_mark(cell: &Cell) -> &'static str {
    if cell.is_unsteady() { "~" } else { "" }
}

fn conditions(report: &Report) -> String {
    let mut text = format!("Took {:.0} s.", report.took.as_secs_f64());
    if let Some(loss) = &report.cpu_loss {
        let (host, others) = (loss.host_percent, loss.others_percent);
        let _ = write!(
            text,
            " Of all CPU time, the host took {host:.1} % and other processes {others:.1} %."
        );
    }
    let Placement { samples, retaken, unusual, .. } = report.placement;
    let _ = write!(
        text,
        " Of {samples} samples {retaken} were taken again, since the host had moved the CPUs apart or\n\
         together; {unusual} count although it had."
    );
    text
}

/// Formats a number with three significant digits, or with all digits before the point.
fn figure(value: f64) -> String {
    if value < 100.0 {
        return format!("{value:.1}");
    }
    let digits = format!("{value:.0}");
    if value < 10_000.0 {
        return digits;
    }
    let mut grouped = String::new();
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i) % 3 == 0 {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    grouped
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measure::Metric;
    use crate::results::record;
    use crate::results::tests::{case, wall};

    #[test]
    fn figures_keep_three_significant_digits() {
        let shown = [9.96, 99.94, 1234.5, 12_345.6, 1_234_567.0].map(figure);
        assert_eq!(shown, ["10.0", "99.9", "1234", "12,346", "1,234,567"]);
    }

    #[test]
    fn a_table_has_a_column_for_each_contender_with_a_figure() {
        let (case, base, ours, absent) = (
            case(),
            Contender::new("base", &[]),
            Contender::new("wakeful-mt", &[]).against("base"),
            Contender::new("absent", &[]),
        );
        let mut rows = Vec::new();
        for own in [40.0, 80.0] {
            record(&mut rows, &case, &base, wall(120.0));
            record(&mut rows, &case, &ours, wall(own));
        }
        let text = table(&[&case], &rows, &[&ours, &absent, &base]);
        assert_eq!(
            text,
            "### group\n\n\
             - `group/case`: what it does.\n\n\
             | case | metric | wakeful-mt | base | best peer |\n\
             |---|---|---:|---:|---|\n\
             | case | wall, ns/op | ~**60.0** (2.25x) | 120 | base (2.25x) |\n"
        );
    }

    #[test]
    fn a_group_without_figures_has_no_table() {
        let (case, ours) = (case(), Contender::new("wakeful-mt", &[]));
        assert_eq!(
            table(&[&case], &[], &[&ours]),
            "### group\n\n\
             - `group/case`: what it does.\n\n\
             No figures: `Not measured` or `Notes` says why.\n"
        );
    }

    fn behind(rows: &[Row]) -> Behind {
        let mut behind = Behind::default();
        rows.iter().for_each(|row| behind.add(row, rows));
        behind
    }

    #[test]
    fn figures_behind_tokio_are_listed() {
        let (case, base, ours) = (
            case(),
            Contender::new("tokio-mt", &[]),
            Contender::new("wakeful-mt", &[]).against("tokio-mt"),
        );
        let mut rows = Vec::new();
        record(&mut rows, &case, &base, wall(100.0));
        record(&mut rows, &case, &ours, wall(125.0));
        let surely = vec!["group/case, wall: wakeful-mt 0.80x (0.80 to 0.80)".to_owned()];
        assert_eq!(behind(&rows), Behind { surely, ..Behind::default() });
        for (theirs, own) in [(100.0, 80.0), (100.0, 110.0)] {
            record(&mut rows, &case, &base, wall(theirs));
            record(&mut rows, &case, &ours, wall(own));
        }
        let perhaps = vec!["group/case, wall: wakeful-mt 0.91x (0.80 to 1.25)".to_owned()];
        assert_eq!(behind(&rows), Behind { perhaps, ..Behind::default() });
        rows[0].cells.truncate(1);
        record(&mut rows, &case, &ours, wall(100.0));
        assert_eq!(behind(&rows), Behind::default());
    }

    #[test]
    fn trades_that_gain_more_are_listed_apart() {
        let (case, base, ours) = (
            case(),
            Contender::new("tokio-mt", &[]),
            Contender::new("wakeful-mt", &[]).against("tokio-mt"),
        );
        let behind_with = |requests: Metric| {
            let served = |requests, ns| {
                vec![requests, Metric::lower_is_better(SERVER_CPU, "ns/request", ns)]
            };
            let base_requests = Metric { value: 1000.0, ..requests.clone() };
            let mut rows = Vec::new();
            record(&mut rows, &case, &base, served(base_requests, 100.0));
            record(&mut rows, &case, &ours, served(requests, 125.0));
            behind(&rows)
        };
        let requests = |value| Metric::higher_is_better(REQUESTS, "/s", value);
        let item = "group/case, server CPU: wakeful-mt 0.80x (0.80 to 0.80)";
        let traded = vec![format!("{item}; requests 2.00x")];
        assert_eq!(behind_with(requests(2000.0)), Behind { traded, ..Behind::default() });
        let surely = Behind { surely: vec![item.into()], ..Behind::default() };
        assert_eq!(behind_with(requests(1200.0)), surely, "not enough for it");
        assert_eq!(behind_with(Metric::for_context(REQUESTS, "/s", 2000.0)), surely, "paced");
    }
}
