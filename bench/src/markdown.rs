//! Results for people: one Markdown table a group of cases.

use crate::os::CpuLoss;
use crate::results::{Cell, Row};
use crate::suite::{Case, Contender};
use std::fmt::Write;
use std::time::Duration;

pub const LEGEND: &str = "\
In brackets: how many times as good as Tokio of the same flavour (`wakeful-ct` beside `tokio-ct`, all others beside
`tokio-mt`); above 1 is better. `~` marks a spread over the rounds, largest to smallest, above 1.5. CPU is the time of
all threads of the process.
";

pub fn table(group: &str, cases: &[&Case], rows: &[Row], contenders: &[&Contender]) -> String {
    let measured =
        |contender: &&&Contender| rows.iter().any(|row| row.cell(contender.name).is_some());
    let columns: Vec<&Contender> = contenders.iter().filter(measured).copied().collect();

    let mut text = format!("### {group}\n\n");
    for case in cases {
        let _ = writeln!(text, "- `{}`: {}.", case.name, case.about);
    }
    let names: String = columns.iter().map(|contender| format!(" {} |", contender.name)).collect();
    let _ = writeln!(text, "\n| case | metric |{names}");
    let _ = writeln!(text, "|---|---|{}", "---:|".repeat(columns.len()));
    for row in rows {
        let _ = write!(text, "| {} | {}, {} |", row.case.short_name(), row.metric, row.unit);
        for contender in &columns {
            let figure = row.cell(contender.name).map_or("-".into(), |cell| describe(row, cell));
            let _ = write!(text, " {figure} |");
        }
        text.push('\n');
    }
    text
}

pub fn list(title: &str, items: &[String]) -> String {
    let items: String = items.iter().map(|item| format!("- {item}\n")).collect();
    format!("### {title}\n\n{items}")
}

pub fn conditions(took: Duration, loss: Option<&CpuLoss>) -> String {
    let seconds = took.as_secs_f64();
    match loss {
        None => format!("Took {seconds:.0} s."),
        Some(loss) => format!(
            "Took {seconds:.0} s. Of all CPU time, the host took {:.1} % and other processes {:.1} %.",
            loss.host_percent, loss.others_percent
        ),
    }
}

fn describe(row: &Row, cell: &Cell) -> String {
    let mark = if cell.is_unsteady() { "~" } else { "" };
    let ratio = row.ratio(cell.contender).map_or(String::new(), |ratio| format!(" ({ratio:.2}x)"));
    format!("{mark}{}{ratio}", figure(cell.median()))
}

/// Three digits that count, or more where the number has more before its point.
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
    use crate::results::record;
    use crate::results::tests::{case, wall};

    #[test]
    fn figures_keep_the_digits_that_count() {
        let shown = [9.96, 99.94, 1234.5, 12_345.6, 1_234_567.0].map(figure);
        assert_eq!(shown, ["10.0", "99.9", "1234", "12,346", "1,234,567"]);
    }

    #[test]
    fn a_table_has_a_column_for_each_contender_with_a_figure() {
        let (case, base, fast, absent) = (
            case(),
            Contender::new("base", &[]),
            Contender::new("fast", &[]).against("base"),
            Contender::new("absent", &[]),
        );
        let mut rows = Vec::new();
        record(&mut rows, &case, &base, wall(100.0));
        record(&mut rows, &case, &fast, wall(40.0));
        record(&mut rows, &case, &fast, wall(80.0));
        let text = table("group", &[&case], &rows, &[&fast, &absent, &base]);
        assert_eq!(
            text,
            "### group\n\n\
             - `group/case`: what it does.\n\n\
             | case | metric | fast | base |\n\
             |---|---|---:|---:|\n\
             | case | wall, ns/op | ~60.0 (1.67x) | 100 |\n"
        );
    }
}
