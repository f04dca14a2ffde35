//! Writes `bench/MANYCORE.md` and its picture.

use std::fs;
use std::process::Command;

use super::figures::{COMPARED, Figure, Row, median_of_seeds};
use super::picture;
use super::programs::Programs;
use super::request::Request;
use super::table;
use crate::probe::failed;
use crate::repo;

/// What stays the same from run to run.
const HEAD: &str = "\
# Many cores

Wakeful beside Tokio on a virtual machine with more cores than the project's machines have. Both
run unmodified, in virtual time: [manycore/README.md](manycore/README.md) says how, what the machine
does not model, and how to repeat this. Written by `cargo xtask manycore --write`.

**Compare ratios and how they grow, not absolute times.** The virtual machine compares policies and
shared cache lines. It has no kernel locks, no SMT, no NUMA, no limited caches or memory bandwidth,
and the code's own instructions are free apart from calls and accesses to memory. A real machine
with as many cores has the last word.
";

/// Writes both files.
pub fn write(programs: &Programs, request: &Request, rows: &[Row]) -> Result<(), String> {
    let bench = repo::root().join("bench");
    let save = |name: &str, text: String| {
        let path = bench.join(name);
        fs::write(&path, text).map_err(|e| failed("write", &path, &e))
    };
    let mut text = HEAD.to_owned();
    text += &format!(
        "\nMeasured on {} at commit {}, with {} seeds per figure.\n",
        output_of("date", &["-u", "+%Y-%m-%d"])?,
        output_of("git", &["describe", "--always", "--dirty", "--exclude=*"])?,
        request.seeds,
    );
    text += "\n![Tokio's time divided by Wakeful's, over the number of workers](manycore.svg)\n";
    text += &cases(programs, request)?;
    text += &figures(rows);
    text += &constants(programs, request)?;
    save("MANYCORE.md", text)?;
    save("manycore.svg", picture::draw(rows))
}

fn cases(programs: &Programs, request: &Request) -> Result<String, String> {
    let mut text =
        "\n## Cases\n\n| case | what it does | third figure |\n|---|---|---|\n".to_owned();
    for case in programs.cases(&request.cases)? {
        text += &format!("| {} | {} | {} |\n", case.name, case.about, case.third);
    }
    Ok(text)
}

fn figures(rows: &[Row]) -> String {
    let mut text = "\n## Figures\n\n\
        Wall and CPU time are in virtual nanoseconds per operation, the third figure in\n\
        microseconds. A ratio is Tokio's figure divided by Wakeful's: above 1, Wakeful is better.\n\
        `~` marks ratios that differ between seeds by more than a quarter.\n\n\
        | case | workers | wall: Tokio | Wakeful | ratio | CPU: Tokio | Wakeful | ratio \
        | third: Tokio | Wakeful | ratio |\n\
        |---|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|\n"
        .to_owned();
    for row in rows {
        text += &format!("| {} | {} |", row.case, row.workers);
        for figure in COMPARED {
            text += &cells(row, figure);
        }
        text += "\n";
    }
    text
}

fn cells(row: &Row, figure: Figure) -> String {
    let (Ok(tokio), Ok(wakeful)) = (&row.tokio, &row.wakeful) else {
        return " failed | failed | |".to_owned();
    };
    let Some(ratio) = row.ratio(figure) else { return " | | |".to_owned() };
    let digits = if figure == Figure::Third { 1 } else { 0 };
    let [tokio, wakeful] = [tokio, wakeful]
        .map(|seeds| format!("{:.digits$}", median_of_seeds(seeds)[figure as usize]));
    format!(" {tokio} | {wakeful} | {} |", table::ratio(ratio).trim())
}

fn constants(programs: &Programs, request: &Request) -> Result<String, String> {
    let mut text =
        "\n## Constants\n\n| constant | value | what it is |\n|---|---:|---|\n".to_owned();
    for [name, value, meaning] in programs.constants(&request.constants)? {
        // The runs set these two themselves.
        if !matches!(name.as_str(), "visible-cpus" | "seed") {
            text += &format!("| `{name}` | {value} | {meaning} |\n");
        }
    }
    Ok(text)
}

fn output_of(program: &str, args: &[&str]) -> Result<String, String> {
    let output = Command::new(program).current_dir(repo::root()).args(args).output();
    let output = output.map_err(|e| format!("could not start `{program}`: {e}"))?;
    Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
}
