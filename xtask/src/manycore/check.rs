//! Finds cases in which Wakeful falls behind Tokio.

use std::fmt;

use super::figures::{COMPARED, Figure, Row};

#[cfg(test)]
mod tests;

/// The least ratio of wall time, and of the third figure, that counts as level. Runs repeat
/// exactly, but any change of the program shifts addresses and thereby the order of events. Other
/// seeds, which do the same, move ratios close to 1 by up to 7 %; see bench/NOTES.md: many cores.
const LEVEL: f64 = 0.9;

/// The least ratio of CPU time that counts as level. CPU time varies as little as wall time.
const CPU_LEVEL: f64 = 0.9;

/// A figure that falls behind Tokio's.
#[derive(Debug, PartialEq)]
pub struct Shortfall {
    case: String,
    workers: u32,
    what: String,
}

impl fmt::Display for Shortfall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} with {} workers: {}", self.case, self.workers, self.what)
    }
}

/// Returns the figures that fall behind, and the runs that failed.
pub fn shortfalls(rows: &[Row]) -> Vec<Shortfall> {
    rows.iter().flat_map(of_row).collect()
}

fn of_row(row: &Row) -> Vec<Shortfall> {
    let found = |what| Shortfall { case: row.case.clone(), workers: row.workers, what };
    let failures = [("Tokio", &row.tokio), ("Wakeful", &row.wakeful)];
    let failures = failures.into_iter().filter_map(|(name, result)| {
        result.as_ref().err().map(|why| found(format!("{name} failed: {why}")))
    });
    let behind = COMPARED.into_iter().filter_map(|figure| {
        let ratio = row.ratio(figure)?.median;
        let least = if figure == Figure::Cpu { CPU_LEVEL } else { LEVEL };
        let name = match figure {
            Figure::Wall => "wall time",
            Figure::Cpu => "CPU time",
            _ => &row.third,
        };
        (ratio < least).then(|| found(format!("{name} {ratio:.2}x, at least {least:.2}x expected")))
    });
    failures.chain(behind).collect()
}
