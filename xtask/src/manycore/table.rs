//! The table on standard output.

use super::figures::{COMPARED, Figures, Ratio, Row, median_of_seeds};

/// A ratio is uncertain if the best and the worst seed differ by more than this factor.
const UNCERTAIN: f64 = 1.25;

const LEGEND: &str = "\
Wall and CPU time in virtual ns per operation, third figure in µs. Per operation: moves of cache
lines, atomic read-modify-writes, parks, polls of epoll. Ratios above 1: Wakeful is better. ~: the
ratio depends on the seed.";

/// Prints what the columns are.
pub fn print_head() {
    let of_runtime = |name: &str| {
        format!(
            "{name:>9} {:>8} {:>8} {:>6} {:>6} {:>5} {:>5}",
            "cpu", "third", "moves", "rmw", "park", "poll"
        )
    };
    println!(
        "{LEGEND}\n{:10} {:>3} | {} | {} | wall    cpu     third",
        "case",
        "W",
        of_runtime("Tokio"),
        of_runtime("Wakeful"),
    );
}

/// Prints a case with a number of workers.
pub fn print_row(row: &Row) {
    let ratios: Vec<String> =
        COMPARED.into_iter().filter_map(|figure| row.ratio(figure)).map(ratio).collect();
    println!(
        "{:10} {:3} | {} | {} | {}",
        row.case,
        row.workers,
        of_runtime(&row.tokio),
        of_runtime(&row.wakeful),
        ratios.join(" ").trim_end(),
    );
    for why in [&row.tokio, &row.wakeful].into_iter().filter_map(|result| result.as_ref().err()) {
        println!("    {why}");
    }
}

fn of_runtime(result: &Result<Vec<Figures>, String>) -> String {
    let Ok(seeds) = result else { return format!("{:53}", "failed") };
    let [wall, cpu, third, moves, _, rmws, parks, polls, _] = median_of_seeds(seeds);
    format!("{wall:9.0} {cpu:8.0} {third:8.1} {moves:6.2} {rmws:6.2} {parks:5.2} {polls:5.2}")
}

/// Formats a ratio, with a mark if it is uncertain.
pub fn ratio(ratio: Ratio) -> String {
    let mark = if ratio.most / ratio.least > UNCERTAIN { '~' } else { ' ' };
    format!("{:5.2}x{mark}", ratio.median)
}
