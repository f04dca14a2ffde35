//! Finds the places in the code that wait for cache lines, as `perf c2c` would.

use std::process::Command;

use super::programs::{Programs, Run};

#[cfg(test)]
mod tests;

/// The number of frames shown of a place: the function itself, and those it is inlined into.
const FRAMES: usize = 3;

/// A place in the program that waited for cache lines.
struct Site {
    /// The offset in the executable, as hexadecimal digits.
    offset: String,
    transfers: u64,
    time_ns: f64,
}

/// Prints the places with the most time lost.
pub fn print(programs: &Programs, run: &Run, constants: &[String]) -> Result<(), String> {
    let output = programs.profile(run, constants)?;
    let sites: Vec<Site> = output.lines().filter_map(parse_site).collect();
    println!("{:>8} {:>9}  place", "moves", "µs");
    for (site, frames) in sites.iter().zip(places(programs, run, &sites)?) {
        println!("{:8} {:9.0}  {}", site.transfers, site.time_ns / 1000.0, frames);
    }
    Ok(())
}

fn parse_site(line: &str) -> Option<Site> {
    let mut words = line.strip_prefix("site ")?.split(' ');
    let offset = words.next()?.to_owned();
    let (transfers, time_ns) = (words.next()?.parse().ok()?, words.next()?.parse().ok()?);
    Some(Site { offset, transfers, time_ns })
}

/// Asks binutils for the source lines.
fn places(programs: &Programs, run: &Run, sites: &[Site]) -> Result<Vec<String>, String> {
    let mut command = Command::new("addr2line");
    command.args(["--addresses", "--functions", "--inlines", "--demangle", "--exe"]);
    command.arg(programs.path(run.runtime)).args(sites.iter().map(|site| &site.offset));
    let output = command
        .output()
        .map_err(|e| format!("could not start `addr2line`, which is a part of binutils: {e}"))?;
    Ok(parse_places(&String::from_utf8_lossy(&output.stdout)))
}

/// Parses an address per place, followed by pairs of lines: function, and file with line number.
fn parse_places(text: &str) -> Vec<String> {
    let mut places: Vec<Vec<String>> = Vec::new();
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        if line.starts_with("0x") {
            places.push(Vec::new());
        } else if let (Some(frames), Some(file)) = (places.last_mut(), lines.next()) {
            frames.push(format!("{} {line}", short(file)));
        }
    }
    places.iter().map(|frames| shown(frames)).collect()
}

/// Joins the innermost frames, without those of the standard library if there are others.
fn shown(frames: &[String]) -> String {
    let is_std = |frame: &&String| frame.starts_with("library/");
    let mut shown: Vec<&str> =
        frames.iter().filter(|frame| !is_std(frame)).map(String::as_str).collect();
    if shown.is_empty() {
        shown = frames.iter().map(String::as_str).collect();
    }
    shown.truncate(FRAMES);
    shown.join("  <-  ")
}

/// Shortens the path of a source file to what follows the checkout or cargo's registry.
fn short(file: &str) -> &str {
    let after = |mark: &str| file.find(mark).map(|at| &file[at + mark.len()..]);
    if let Some(in_registry) = after("/registry/src/") {
        return in_registry.split_once('/').map_or(in_registry, |(_, path)| path);
    }
    if let Some(in_std) = file.find("/library/") {
        return &file[in_std + 1..];
    }
    after("/crates/").or_else(|| after("/bench/")).unwrap_or(file)
}
