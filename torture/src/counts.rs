//! Named counters, which a program prints as a table at the end of a run.

use std::collections::BTreeMap;
use std::fmt;

/// A table of counters: each has the name of its row and of its column.
#[derive(Debug, Default, Clone)]
pub struct Counts {
    rows: BTreeMap<String, BTreeMap<&'static str, u64>>,
}

impl Counts {
    /// Adds `count` to the counter in `row` and `column`.
    pub fn add(&mut self, row: &str, column: &'static str, count: u64) {
        *self.rows.entry(row.to_owned()).or_default().entry(column).or_default() += count;
    }

    /// Returns the sum of a column over all rows.
    pub fn total(&self, column: &str) -> u64 {
        self.rows.values().filter_map(|row| row.get(column)).sum()
    }
}

/// Prints a line for each row, then one with the totals.
impl fmt::Display for Counts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut totals: BTreeMap<&str, u64> = BTreeMap::new();
        for (name, row) in &self.rows {
            write_row(f, name, row)?;
            row.iter().for_each(|(column, count)| *totals.entry(column).or_default() += count);
        }
        write_row(f, "total", &totals)
    }
}

fn write_row(f: &mut fmt::Formatter<'_>, name: &str, row: &BTreeMap<&str, u64>) -> fmt::Result {
    write!(f, "  {name:24}")?;
    for (column, count) in row {
        write!(f, " {count:>10} {column}")?;
    }
    writeln!(f)
}
