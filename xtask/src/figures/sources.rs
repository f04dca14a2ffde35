//! The files that figures come from.

use std::collections::BTreeMap;
use std::path::Path;

use crate::conformance::lists::Tests;
use crate::repo::Files;

#[cfg(test)]
pub mod tests;

/// The path of the benchmarks' results.
const RESULTS: &str = "bench/RESULTS.md";
/// The path of the results on many virtual cores.
const MANYCORE: &str = "bench/MANYCORE.md";

/// A figure of a source.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Figure {
    pub value: f64,
    /// The rounds or seeds of this figure differ by much.
    pub is_uncertain: bool,
}

/// All figures of all sources.
#[derive(Default)]
pub struct Sources {
    /// By case, metric and runtime, such as `sched/spawn_many wall wakeful-mt`. A ratio to Tokio
    /// has a further word `ratio`.
    results: BTreeMap<String, Figure>,
    /// By case, number of workers and column, such as `manycore/spawn 8 wall ratio`.
    manycore: BTreeMap<String, Figure>,
    /// The number of tests in each list of `xtask/conformance`.
    tests: BTreeMap<String, usize>,
}

impl Sources {
    /// Reads the sources out of the repository.
    pub fn read(files: &Files) -> Result<Sources, String> {
        let text = |path: &str| {
            files
                .get(Path::new(path))
                .ok_or_else(|| format!("{path} is missing"))
                .map(String::as_str)
        };
        let mut sources = Sources::default();
        sources.add_results(text(RESULTS)?);
        sources.add_manycore(text(MANYCORE)?);
        for (path, list) in files.iter().filter(|(path, _)| path.starts_with("xtask/conformance")) {
            if let (Some(krate), true) =
                (path.file_stem(), path.extension() == Some("tests".as_ref()))
            {
                let count = Tests::parse(list).count();
                sources.tests.insert(krate.to_string_lossy().into_owned(), count);
            }
        }
        if sources.results.is_empty() || sources.manycore.is_empty() {
            return Err(format!("no table of figures found in {RESULTS} or {MANYCORE}"));
        }
        Ok(sources)
    }

    /// Returns the figure with this name.
    pub fn figure(&self, name: &str) -> Result<Figure, String> {
        let (kind, rest) = name.split_once(' ').unwrap_or((name, ""));
        if kind == "tests" {
            let count =
                self.tests.get(rest).ok_or_else(|| format!("no list of tests of `{rest}`"))?;
            return Ok(Figure { value: *count as f64, is_uncertain: false });
        }
        let from = if kind.starts_with("manycore/") { &self.manycore } else { &self.results };
        let file = if kind.starts_with("manycore/") { MANYCORE } else { RESULTS };
        from.get(name).copied().ok_or_else(|| format!("no figure `{name}` in {file}"))
    }

    /// Returns the figures whose names end with `end`, of all cases of a group, or of one case.
    pub fn of_group(&self, group: &str, end: &str) -> Vec<(&str, Figure)> {
        let of_group =
            |name: &str| name.strip_prefix(group).is_some_and(|rest| rest.starts_with(['/', ' ']));
        let figures = self.results.iter().filter(|(name, _)| of_group(name) && name.ends_with(end));
        figures.map(|(name, figure)| (name.as_str(), *figure)).collect()
    }

    /// Adds the tables below headings that are groups of cases.
    fn add_results(&mut self, text: &str) {
        let mut group = "";
        let mut columns: Vec<&str> = Vec::new();
        for line in text.lines() {
            if let Some(heading) = line.strip_prefix("### ") {
                group = heading.trim();
            } else if line.starts_with("## ") {
                group = "";
            }
            let Some(cells) = cells(line).filter(|_| !group.is_empty()) else { continue };
            if cells.starts_with(&["case", "metric"]) {
                columns = cells;
            } else if cells.len() == columns.len() && !cells[0].starts_with("--") {
                let metric = cells[1].split(',').next().unwrap_or_default().replace(' ', "-");
                for (column, cell) in columns.iter().zip(&cells).skip(2) {
                    let name = format!("{group}/{} {metric} {column}", cells[0]);
                    let (figure, ratio) = cell.split_once('(').unwrap_or((cell, ""));
                    self.results.extend(parse(figure).map(|figure| (name.clone(), figure)));
                    let ratio = parse(ratio.trim_end_matches(')'));
                    self.results.extend(ratio.map(|ratio| (format!("{name} ratio"), ratio)));
                }
            }
        }
    }

    /// Adds the table of figures on many cores.
    fn add_manycore(&mut self, text: &str) {
        const COLUMNS: [&str; 9] = [
            "wall tokio",
            "wall wakeful",
            "wall ratio",
            "CPU tokio",
            "CPU wakeful",
            "CPU ratio",
            "third tokio",
            "third wakeful",
            "third ratio",
        ];
        for cells in text.lines().filter_map(cells) {
            if cells.len() == COLUMNS.len() + 2 && cells[1].parse::<u32>().is_ok() {
                for (column, cell) in COLUMNS.iter().zip(&cells[2..]) {
                    let name = format!("manycore/{} {} {column}", cells[0], cells[1]);
                    self.manycore.extend(parse(cell).map(|figure| (name, figure)));
                }
            }
        }
    }
}

/// Returns the cells of a table's line.
fn cells(line: &str) -> Option<Vec<&str>> {
    let line = line.trim().strip_prefix('|')?.strip_suffix('|')?;
    Some(line.split('|').map(str::trim).collect())
}

/// Parses a number such as `**1,234**`, `~5.6` or `7.8x`.
fn parse(cell: &str) -> Option<Figure> {
    let is_uncertain = cell.contains('~');
    let digits: String =
        cell.chars().filter(|c| !matches!(c, ',' | '*' | '~' | ' ' | 'x')).collect();
    digits.parse().ok().map(|value| Figure { value, is_uncertain })
}
