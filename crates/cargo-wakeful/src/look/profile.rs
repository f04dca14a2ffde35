//! `cargo wakeful profile`: where the time of a program's tasks goes.
//!
//! ```text
//! client ─▶ record ──────────▶ stacks ─▶ folded | pprof | table
//! answers   differences, and   samples   what is written and printed
//!           shares of tasks
//! ```
//!
//! Two kinds of time, which no profiler of threads tells apart: *busy*, the time that polls take,
//! by the place that spawned the task; and *waiting*, by the stack of `await`s.

mod folded;
mod pprof;
mod record;
mod stacks;

use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use super::table::{Column, Kind, Table};
use super::units::{count, duration, plural};
use super::{connect, terminal};
use crate::invocation::look::{Record, Target};
use crate::output::{print_note, print_text};
use stacks::{Profile, Sample, Time};

/// How many rows each table has.
const SHOWN: usize = 10;

const SITES: [Column; 5] = [
    Column { title: "BUSY", kind: Kind::Number, rank: 0 },
    Column { title: "SHARE", kind: Kind::Number, rank: 1 },
    Column { title: "POLLS", kind: Kind::Number, rank: 2 },
    Column { title: "SPAWNED AT", kind: Kind::Path, rank: 0 },
    Column { title: "FUTURE", kind: Kind::Path, rank: 3 },
];

const STACKS: [Column; 5] = [
    Column { title: "WAITING", kind: Kind::Number, rank: 0 },
    Column { title: "SHARE", kind: Kind::Number, rank: 1 },
    Column { title: "WAITS FOR", kind: Kind::Long, rank: 0 },
    Column { title: "AWAITED IN", kind: Kind::Path, rank: 0 },
    Column { title: "SPAWNED AS", kind: Kind::Path, rank: 2 },
];

/// Records a profile, writes it to files, and prints a summary.
pub fn run(target: &Target, options: &Record) -> Result<(), String> {
    let mut client = connect(target)?;
    // A path that is wrong is told before the recording, not after it.
    let folded = options.folded.as_ref().filter(|_| !options.prints_folded()).map(create);
    let folded = folded.transpose()?;
    let pprof = options.pprof.as_ref().map(create).transpose()?;
    let (pid, program) = (client.pid, client.program.clone());
    let began = SystemTime::now();
    let profile = record::record(&mut client, options)?;
    if let (Some(mut file), Some(path)) = (folded, &options.folded) {
        write(&mut file, path, folded::fold(&profile).as_bytes())?;
    }
    if let (Some(mut file), Some(path)) = (pprof, &options.pprof) {
        write(&mut file, path, &pprof::encode(&profile, began))?;
    }
    if options.prints_folded() {
        print_text(&folded::fold(&profile));
    } else {
        let width = terminal::size().map(|size| size.columns);
        let head = format!("Process {pid}, {program}, for {}", duration(profile.us));
        print_text(&format!("{head}\n{}", summary(&profile, width)));
    }
    remarks(&profile).iter().for_each(print_note);
    Ok(())
}

fn create(path: &PathBuf) -> Result<File, String> {
    File::create(path).map_err(|error| format!("could not create {}: {error}", path.display()))
}

fn write(file: &mut File, path: &Path, bytes: &[u8]) -> Result<(), String> {
    file.write_all(bytes).map_err(|error| format!("could not write {}: {error}", path.display()))
}

/// Returns the tables of the places with most time.
fn summary(profile: &Profile, width: Option<usize>) -> String {
    let mut text = String::new();
    for &time in &profile.times {
        let samples = profile.longest(time);
        let total: u64 = samples.iter().map(|sample| sample.us).sum();
        text += &match time {
            Time::Busy => format!(
                "\nBusy: polls took {}, and workers were busy for {}\n",
                duration(total),
                duration(profile.workers_us)
            ),
            Time::Waiting => format!(
                "\nWaiting: {} of all tasks together, from {}\n",
                duration(total),
                plural(profile.asked, "answer")
            ),
        };
        let mut table = Table::new(if time == Time::Busy { &SITES } else { &STACKS });
        for sample in samples.iter().take(SHOWN) {
            table.add(row(sample, total));
        }
        if !samples.is_empty() {
            table.lines(width).iter().for_each(|line| text += &format!("{line}\n"));
        }
        if samples.len() > SHOWN {
            text += &format!("and {} more\n", samples.len() - SHOWN);
        }
    }
    text
}

fn row(sample: &Sample, total: u64) -> Vec<String> {
    let share = format!("{:.1}%", sample.us as f64 * 100.0 / total.max(1) as f64);
    let frame = |index: usize| sample.stack.get(index).map(|frame| frame.label());
    match sample.time {
        Time::Busy => vec![
            duration(sample.us),
            share,
            count(sample.polls),
            frame(0).unwrap_or_default(),
            frame(1).unwrap_or_default(),
        ],
        Time::Waiting => {
            let last = sample.stack.len().saturating_sub(1);
            // The innermost frame is what is waited for; without a stack there is no other.
            let inner = last.checked_sub(1).and_then(frame);
            let outer = sample.stack.first().filter(|_| last > 0).map(|it| it.name.clone());
            vec![
                duration(sample.us),
                share,
                frame(last).unwrap_or_default(),
                inner.unwrap_or_default(),
                outer.unwrap_or_default(),
            ]
        }
    }
}

/// Says what the profile does not have, and how to get it.
fn remarks(profile: &Profile) -> Vec<String> {
    let mut remarks = profile.remarks.clone();
    let waiting = profile.longest(Time::Waiting);
    let frames = || waiting.iter().flat_map(|sample| sample.stack.split_last().map(|it| it.1));
    if frames().all(<[_]>::is_empty) && !waiting.is_empty() {
        remarks.push(
            "the stacks have no functions: the program was built without their names (`strip`). \
             Remove\n`strip = true` from its profile in Cargo.toml"
                .into(),
        );
    } else if !waiting.is_empty() && frames().flatten().all(|frame| frame.file.is_none()) {
        remarks.push(
            "the stacks have functions but no files and lines: the program was built without \
             debug information.\nFor these, set `debug = \"line-tables-only\"` in its profile in \
             Cargo.toml"
                .into(),
        );
    }
    if profile.unknown_us > 0 {
        remarks.push(format!(
            "{} of waiting are left out: no task of those that waited answered in time",
            duration(profile.unknown_us)
        ));
    }
    remarks
}
