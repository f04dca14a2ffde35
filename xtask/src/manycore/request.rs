//! The options of `cargo xtask manycore`.

use super::programs::Run;
use crate::options::Options;

#[cfg(test)]
mod tests;

/// The numbers of workers that are measured by default.
const WORKERS: [u32; 6] = [2, 4, 8, 16, 32, 64];

/// The number of seeds, each with a process of its own. With five other seeds, most medians differ
/// by a few percent; see bench/NOTES.md: many cores.
const SEEDS: u32 = 5;

/// What to do with the measurements.
#[derive(Debug, PartialEq)]
pub enum Task {
    Print,
    Check,
    Write,
    Profile(Run),
}

/// What was asked for.
#[derive(Debug)]
pub struct Request {
    pub task: Task,
    pub workers: Vec<u32>,
    /// The names of the cases; none means all.
    pub cases: Vec<String>,
    pub seeds: u32,
    /// Constants of the machine that differ from the default, as `NAME=VALUE`.
    pub constants: Vec<String>,
}

impl Request {
    pub fn parse(args: &[&str]) -> Result<Request, String> {
        let is_flag = |arg: &&str| matches!(*arg, "--check" | "--write");
        let flags: Vec<&str> = args.iter().copied().filter(is_flag).collect();
        let rest: Vec<&str> = args.iter().copied().filter(|arg| !is_flag(arg)).collect();
        let names = ["workers", "cases", "seeds", "wake-us", "cpus", "quota", "set", "profile"];
        let options = Options::parse(&rest, &names)?;
        let task = match (&flags[..], options.text("profile")) {
            ([], None) => Task::Print,
            ([], Some(run)) => Task::Profile(Run::parse(run)?),
            (["--check"], None) => Task::Check,
            (["--write"], None) => Task::Write,
            _ => return Err("`--check`, `--write` and `--profile` exclude each other".to_owned()),
        };
        let workers = options.text("workers").map_or(Ok(WORKERS.to_vec()), |list| {
            list.split(',').map(|number| parse_count("workers", number)).collect()
        })?;
        let cases = options.text("cases").map_or(Vec::new(), list);
        let seeds = options.text("seeds").map_or(Ok(SEEDS), |n| parse_count("seeds", n))?;
        let mut constants = options.text("set").map_or(Vec::new(), list);
        for name in ["wake-us", "cpus", "quota"] {
            constants.extend(options.text(name).map(|value| format!("{name}={value}")));
        }
        Ok(Request { task, workers, cases, seeds, constants })
    }
}

fn list(text: &str) -> Vec<String> {
    text.split(',').map(str::to_owned).collect()
}

fn parse_count(name: &str, text: &str) -> Result<u32, String> {
    let number = text.parse().ok().filter(|&number| number > 0);
    number.ok_or_else(|| format!("`--{name}`: `{text}` is not a positive number"))
}
