//! Each program of the corpus is told apart from its healthy twin, and by the right name.
//!
//! A program runs until it hangs, gets SIGQUIT, and must print a dump whose verdicts are those of
//! `expected/NAME.expected`, word by word, with the ids of the tasks and the lines of the source. Then
//! it must still be there. Its twin, which differs from it in the mistake alone, must get no verdict
//! of any grade.
//!
//! Both run on the multi-thread and on the current-thread runtime, where both hang, and in two modes:
//!
//! - *dormant*, `WAKEFUL_CONSOLE=1`: nothing is recorded before the signal comes,
//! - *watched*, `WAKEFUL_CONSOLE=watch`: it is recorded from the start who holds what.
//!
//! If the texts differ between them, there are several files: `NAME.mt.expected`,
//! `NAME.dormant.expected`, `NAME.mt.dormant.expected`. With `HUNG_BLESS=1`, the tests write the files
//! instead of comparing. `HUNG_SHOW=1` prints the dumps.
//!
//! In a release build, which has no debug information, lines of `.await`s are not known. There
//! everything else of the same files must be in the dump.

#![cfg(target_os = "linux")]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;
use std::{env, fs, thread};

use driver::{CONSOLE, Dump, Program};

/// The verdicts are to come within a second. This is for busy machines; the times are printed.
const DUMP_MAX: Duration = Duration::from_secs(5);

/// How long a program has hung when it is looked at. A dump looks for as long as it has to, so this
/// only covers what settles late.
const HANGS_FOR: Duration = Duration::from_millis(200);

/// How often a twin is looked at. A wrong verdict may depend on the moment.
const LOOKS_AT_TWIN: usize = 3;

const BOTH: &[&str] = &["mt", "ct"];
const CURRENT_THREAD: &[&str] = &["ct"];
const MODES: [(&str, &str); 2] = [("dormant", "1"), ("watched", "watch")];

macro_rules! corpus {
    ($($name:ident on $flavors:expr,)*) => {
        mod hung { $(#[test] fn $name() { super::hung(stringify!($name), $flavors); })* use super::*; }
        mod healthy { $(#[test] fn $name() { super::healthy(stringify!($name), $flavors); })* use super::*; }
    };
}

corpus! {
    abba on BOTH,
    relock on BOTH,
    rwlock_upgrade on BOTH,
    futurelock on BOTH,
    buffered on BOTH,
    futures_unordered on BOTH,
    own_sender on BOTH,
    full_channels on BOTH,
    forgotten_permit on BOTH,
    nested_acquire on BOTH,
    join_cycle on BOTH,
    missed_notify on BOTH,
    held_across_read on BOTH,
    blocked_workers on BOTH,
    lost_waker on BOTH,
    spinning on BOTH,
    starved on CURRENT_THREAD,
    nobody_drives on CURRENT_THREAD,
    pool_of_one on BOTH,
    barrier_short on BOTH,
    once_cell_in_itself on BOTH,
    three_way_cycle on BOTH,
    unpolled_local_set on BOTH,
    join_locks on BOTH,
    std_lock on BOTH,
}

/// Runs a program in each flavor and mode, all at the same time, and compares the verdicts.
fn hung(name: &str, flavors: &[&str]) {
    let found = in_each(flavors, |flavor, mode, variable| {
        let run = [name, "--flavor", flavor];
        let mut program = Program::start(env!("CARGO_BIN_EXE_hung"), &run, &[(CONSOLE, variable)]);
        program.wait_until_settled();
        thread::sleep(HANGS_FOR);
        let dump = program.dump();
        let nothing = || format!("{}\nNothing is known to hang.\n", dump.head());
        let verdicts = dump.verdicts().unwrap_or_else(nothing);
        let Dump { took, took_in_all, ref lines } = dump;
        println!("{name} {flavor} {mode}: {took:?}, in all {took_in_all:?}\n{verdicts}");
        show(lines);
        assert!(took < DUMP_MAX, "{name} {flavor} {mode}: the dump took {took:?}");
        program.assert_alive();
        assert_eq!(program.output.get(), ["ready"], "{name} {flavor} {mode}: it goes on");
        verdicts
    });
    if env::var_os("HUNG_BLESS").is_some() {
        bless(name, &found);
        return;
    }
    let mut problems = Vec::new();
    for ((flavor, mode), verdicts) in &found {
        let path = expected_path(name, flavor, mode);
        let expected = fs::read_to_string(&path)
            .unwrap_or_else(|error| panic!("{}: {error}; HUNG_BLESS=1 writes it", path.display()));
        if !is_as_expected(verdicts, &expected) {
            let file = path.file_name().expect("it has one").to_string_lossy();
            problems.push(format!("{flavor} {mode}, not as in {file}:\n{verdicts}\n"));
        }
    }
    assert!(problems.is_empty(), "{name} on\n{}", problems.join("\n"));
}

/// Runs a twin in each flavor and mode. It must get no verdict, and go on after each dump.
fn healthy(name: &str, flavors: &[&str]) {
    in_each(flavors, |flavor, mode, variable| {
        let run = [name, "--flavor", flavor, "--healthy"];
        let mut program = Program::start(env!("CARGO_BIN_EXE_hung"), &run, &[(CONSOLE, variable)]);
        thread::sleep(HANGS_FOR);
        for _ in 0..LOOKS_AT_TWIN {
            let dump = program.dump();
            show(&dump.lines);
            let verdicts = dump.verdicts();
            let what = format!("{name} {flavor} {mode}");
            assert!(
                verdicts.is_none(),
                "{what}: it does not hang, but:\n{}",
                dump.lines.join("\n")
            );
            assert!(dump.took < DUMP_MAX, "{what}: the dump took {:?}", dump.took);
            let ticks = program.output.count("tick");
            program.output.wait_until("tick after a dump", |lines| lines.len() > ticks + 2);
            program.assert_alive();
        }
        String::new()
    });
}

type Found = BTreeMap<(String, &'static str), String>;

/// Calls `run` for each flavor and mode, on a thread each, and returns the verdicts.
fn in_each(flavors: &[&str], run: impl Fn(&str, &'static str, &str) -> String + Sync) -> Found {
    let run = &run;
    thread::scope(|scope| {
        let started: Vec<_> = flavors
            .iter()
            .flat_map(|flavor| MODES.map(|(mode, variable)| (*flavor, mode, variable)))
            .map(|(flavor, mode, variable)| {
                let run = scope.spawn(move || run(flavor, mode, variable));
                ((flavor.to_owned(), mode), run)
            })
            .collect();
        let join = |(key, run): (_, thread::ScopedJoinHandle<_>)| (key, run.join());
        let ended: Vec<_> = started.into_iter().map(join).collect();
        let unwrap = |verdicts: thread::Result<String>| {
            verdicts.unwrap_or_else(|why| std::panic::resume_unwind(why))
        };
        ended.into_iter().map(|(key, verdicts)| (key, unwrap(verdicts))).collect()
    })
}

fn show(lines: &[String]) {
    if env::var_os("HUNG_SHOW").is_some() {
        println!("{}", lines.join("\n"));
    }
}

/// Compares verdicts with those that are expected, as far as they are known in this build.
fn is_as_expected(verdicts: &str, expected: &str) -> bool {
    if cfg!(debug_assertions) {
        return verdicts == expected;
    }
    // Which function of several that were inlined into each other is named, is up to the compiler. A
    // future of `block_on` may have been inlined into the runtime's own functions.
    let without_places = |text: &str| -> Vec<String> {
        let place = |line: &str| match (line.split_once(" waits in "), line) {
            (Some((actor, _)), _) if actor.starts_with("     thread ") => actor.to_owned(),
            (Some((actor, _)), _) => format!("{actor} waits in"),
            (None, line) if line.starts_with("     thread ") => {
                line.split(" waits").next().unwrap_or_default().to_owned()
            }
            (None, line) => line.to_owned(),
        };
        text.lines().map(place).collect()
    };
    without_places(verdicts) == without_places(expected)
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("expected")
}

/// The most special one of the files that may be there.
fn expected_path(name: &str, flavor: &str, mode: &str) -> PathBuf {
    let special =
        [format!("{name}.{flavor}.{mode}"), format!("{name}.{flavor}"), format!("{name}.{mode}")];
    let paths = special.iter().map(|stem| folder().join(format!("{stem}.expected")));
    let general = folder().join(format!("{name}.expected"));
    paths.into_iter().find(|path| path.exists()).unwrap_or(general)
}

/// Returns the part of a file's name for a run, given its flavor and mode.
type Key = fn(&(String, &'static str)) -> String;

/// Writes as few files as the differences allow.
fn bless(name: &str, found: &Found) {
    for file in fs::read_dir(folder()).unwrap().flatten() {
        if file.file_name().to_string_lossy().split('.').next() == Some(name) {
            fs::remove_file(file.path()).unwrap();
        }
    }
    let write = |stem: String, text: &str| {
        fs::write(folder().join(format!("{name}{stem}.expected")), text).unwrap();
    };
    let is_same = |key: Key| {
        let mut texts: BTreeMap<String, &str> = BTreeMap::new();
        found.iter().all(|(run, text)| *texts.entry(key(run)).or_insert(text) == text)
    };
    let keys: [Key; 4] = [
        |_| String::new(),
        |(_, mode)| format!(".{mode}"),
        |(flavor, _)| format!(".{flavor}"),
        |(flavor, mode)| format!(".{flavor}.{mode}"),
    ];
    let key = keys.into_iter().find(|&key| is_same(key)).expect("the last one tells all apart");
    for (run, text) in found {
        write(key(run), text);
    }
}
