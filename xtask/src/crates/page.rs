//! The tables in `docs/crates.md` and `docs/crates.zh-CN.md`. The text around them is written by
//! hand.

use std::fs;
use std::path::Path;

use super::compare::REPEATS;
use super::results::{Difference, Results, Run};
use crate::probe::failed;

#[cfg(test)]
mod tests;

const BEGIN: &str = "<!-- crates: begin -->\n";
const END: &str = "<!-- crates: end -->\n";

/// The words of a page.
struct Words {
    path: &'static str,
    columns: &'static str,
    total: &'static str,
    differences: &'static str,
    none: &'static str,
}

const PAGES: [Words; 2] = [
    Words {
        path: "docs/crates.md",
        columns: "| crate | version | pass on Tokio | of these on Wakeful | fail on both | not compiled | date |",
        total: "all",
        differences: "| crate | test | runs that pass on Tokio | on Wakeful |",
        none: "No test differs.",
    },
    Words {
        path: "docs/crates.zh-CN.md",
        columns: "| crate | 版本 | 在 Tokio 上通过 | 其中在 Wakeful 上通过 | 两者都失败 | 未编译 | 日期 |",
        total: "合计",
        differences: "| crate | 测试 | 在 Tokio 上通过的次数 | 在 Wakeful 上通过的次数 |",
        none: "没有表现不同的测试。",
    },
];

/// Rewrites the tables on both pages.
pub fn write(root: &Path, results: &Results) -> Result<(), String> {
    for words in &PAGES {
        let path = root.join(words.path);
        let text = fs::read_to_string(&path).map_err(|e| failed("read", &path, &e))?;
        let text = with_tables(&text, &tables(words, results))
            .ok_or_else(|| format!("{} has no place for the tables", words.path))?;
        fs::write(&path, text).map_err(|e| failed("write", &path, &e))?;
    }
    Ok(())
}

/// Returns the page with other tables.
fn with_tables(page: &str, tables: &str) -> Option<String> {
    let (before, rest) = page.split_once(BEGIN)?;
    let (_, after) = rest.split_once(END)?;
    Some(format!("{before}{BEGIN}{tables}{END}{after}"))
}

/// Returns the cells of a row that are numbers.
fn cells(numbers: [usize; 4]) -> String {
    let [tokio, wakeful, neither, uncompiled] = numbers;
    format!("| {tokio} | {wakeful} | {neither} | {uncompiled} |")
}

fn tables(words: &Words, results: &Results) -> String {
    let mut text = format!("{}\n|---|---|---|---|---|---|---|\n", words.columns);
    let mut sums = [0; 4];
    for (name, Run { version, date, counts }) in &results.0 {
        let uncompiled = counts.uncompiled.len();
        let numbers = [counts.on_tokio(), counts.on_wakeful(), counts.neither, uncompiled];
        sums.iter_mut().zip(numbers).for_each(|(sum, number)| *sum += number);
        text += &format!("| {name} | {version} {} {date} |\n", cells(numbers));
    }
    text += &format!("| {} ({}) | {} |\n\n", words.total, results.0.len(), cells(sums));
    let differences: Vec<(&String, &Difference)> = results
        .0
        .iter()
        .flat_map(|(name, run)| run.counts.differences.iter().map(move |it| (name, it)))
        .collect();
    if differences.is_empty() {
        return text + words.none + "\n";
    }
    text += &format!("{}\n|---|---|---|---|\n", words.differences);
    for (name, Difference { target, test, on_tokio, on_wakeful }) in differences {
        text += &format!(
            "| {name} | `{target} {test}` | {on_tokio} / {REPEATS} | {on_wakeful} / {REPEATS} |\n"
        );
    }
    text
}
