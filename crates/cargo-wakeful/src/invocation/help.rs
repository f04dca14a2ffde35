//! The texts of `--help`.

use std::path::Path;

/// A command with a help text of its own.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Topic {
    All,
    Add,
    Remove,
    Doctor,
    Ps,
    Dump,
    Console,
    Profile,
}

impl Topic {
    pub fn named(name: Option<&str>) -> Topic {
        match name {
            Some("add") => Topic::Add,
            Some("remove" | "rm") => Topic::Remove,
            Some("doctor") => Topic::Doctor,
            Some("ps") => Topic::Ps,
            Some("dump") => Topic::Dump,
            Some("console") => Topic::Console,
            Some("profile") => Topic::Profile,
            _ => Topic::All,
        }
    }

    pub fn name(self) -> &'static str {
        match self {
            Topic::All => "",
            Topic::Add => "add",
            Topic::Remove => "remove",
            Topic::Doctor => "doctor",
            Topic::Ps => "ps",
            Topic::Dump => "dump",
            Topic::Console => "console",
            Topic::Profile => "profile",
        }
    }
}

/// Returns the help text. `checkout` is the default of `WAKEFUL_PATH`.
pub fn help(topic: Topic, checkout: &Path) -> String {
    match topic {
        Topic::All => ALL.replace("{checkout}", &checkout.to_string_lossy()),
        Topic::Add => ADD.to_owned(),
        Topic::Remove => REMOVE.to_owned(),
        Topic::Doctor => DOCTOR.to_owned(),
        Topic::Ps => PS.to_owned(),
        Topic::Dump => DUMP.to_owned(),
        Topic::Console => CONSOLE.to_owned(),
        Topic::Profile => PROFILE.to_owned(),
    }
}

const ALL: &str = "\
Runs a program written for Tokio on Wakeful.

Usage: cargo wakeful [+TOOLCHAIN] <COMMAND> [OPTIONS]

Run once, without changing any file:
    run, test, build, bench, check, doc, tree, clippy, nextest run
                     Calls this command of cargo with Wakeful's crate `tokio` in place of Tokio.
                     Takes the options of the cargo command. Fails if Tokio cannot be replaced.

Stay on Wakeful:
    add              Writes the patch that replaces Tokio into the workspace's Cargo.toml
    remove           Takes the patch out again
    doctor           Reports what of the program would not move, and what this machine lacks

Watch a program that runs with WAKEFUL_CONSOLE=1:
    ps               Lists the programs that can be watched; `ps PID` lists the tasks of one
    dump             Prints what hangs, and where every task waits
    console          Shows the program live, on a page in the browser
    profile          Records where time goes: busy by spawn site, waiting by stack of `await`s

    cargo wakeful run --release -- --port 8080
    cargo wakeful test --workspace

Cargo.toml is not changed, except by `add` and `remove`. Cargo.lock is changed while cargo builds.
It is restored, byte for byte, before the program or the tests run, and after a failed build or
Ctrl-C. After `kill -9`, the next `cargo wakeful` in the workspace restores it. If another program
changes Cargo.lock during the build, that content is saved, and a message says where.

Build output goes to the folder `wakeful` in the target folder, so that it does not replace Tokio's.
With --target-dir, it goes to the folder that you name.

Environment:
    WAKEFUL_PATH            the path of a Wakeful checkout [default: {checkout}]
    WAKEFUL_VERSION         set to 1 to make a program print, at its start, that it runs on Wakeful
    WAKEFUL_STALL_REPORT    set to 1 to make a program report tasks that block their thread
    WAKEFUL_CONSOLE         set to 1 to make a program answer `ps`, `dump`, `console`, `profile`

Options:
    -h, --help       Prints this help; `cargo wakeful run --help` prints the help of `cargo run`
    -V, --version    Prints the version";

const ADD: &str = "\
Writes the patch that replaces Tokio by Wakeful into the workspace's Cargo.toml.

Usage: cargo wakeful add [OPTIONS]

The patch is two lines:

    [patch.crates-io]
    tokio = { path = \"…/crates/tokio-drop-in\" }

The rest of Cargo.toml keeps its comments and layout. Cargo.lock is updated to match. If Tokio
cannot be replaced, or a patch for tokio exists that is not Wakeful's, nothing is changed. If
Wakeful's patch exists already, only its source is updated. WAKEFUL_PATH selects the checkout.

Options:
        --git <URL>               Names this repository of Wakeful instead of the checkout's path
        --branch, --tag, --rev    Selects a commit of that repository
        --manifest-path <PATH>    The Cargo.toml of the program or of one of its workspace's members
    -n, --dry-run                 Prints the new lines and changes nothing
        --offline                 Runs without network access
    -h, --help                    Prints this help";

const REMOVE: &str = "\
Takes the patch that replaces Tokio by Wakeful out of the workspace's Cargo.toml.

Usage: cargo wakeful remove [OPTIONS]

Only Wakeful's patch is removed; another patch for tokio stays. Cargo.lock is updated: cargo selects
a release of Tokio anew. To return to the release that was locked before, restore Cargo.lock from
your version control.

Options:
        --manifest-path <PATH>    The Cargo.toml of the program or of one of its workspace's members
    -n, --dry-run                 Prints the lines to be removed and changes nothing
        --offline                 Runs without network access
    -h, --help                    Prints this help";

const DOCTOR: &str = "\
Reports what of a program would not move to Wakeful, and what this machine lacks.

Usage: cargo wakeful doctor [OPTIONS]

Checks the program: the versions and features of Tokio that its crates require, where Tokio comes
from, unstable and private items of Tokio that its crates name, other runtimes in the dependency
graph. Checks the machine: system, Rust version, system calls, limits of descriptors, threads and
CPUs. Outside of a Cargo workspace, only the machine is checked. No file is changed.

Each finding has a level:
    ok         as it should be
    note       worth knowing; the program works
    problem    the program does not build, does not start, or lacks a function on Wakeful

Exit code: 0 without a problem, 1 with at least one, 101 if the checks could not run.

Options:
        --manifest-path <PATH>    The Cargo.toml of the program
        --json                    Prints the findings as one JSON object
        --offline                 Runs without network access
    -h, --help                    Prints this help";

const PS: &str = "\
Lists the programs that can be watched, or the tasks of one.

Usage: cargo wakeful ps [--json] [--watch]
       cargo wakeful ps <PID|NAME> [OPTIONS]

A program can be watched if it is on Wakeful, runs with WAKEFUL_CONSOLE=1, and belongs to this user.
Sockets of programs that have ended are removed. Watching changes nothing in the program; it records
polls, wake-ups and times of its tasks from the first request until the last tool disconnects, so
these columns are short or empty in a single table. WAKEFUL_CONSOLE=watch records from the start.

What hangs is printed above the tasks. The columns of tasks:
    SPAWNED AT    where the code is that spawned it
    WAITS FOR     what the last future that returned `Pending` waits for
    SINCE         for how long no poll has changed that
    POLLS         how often it was polled        BUSY     the time that its polls took
    LAST          how long the last poll took    WAKES    how often it was woken
    DELAY         the longest time from a wake-up to the poll

Options:
    -s, --sort <COLUMN>    id, name, site, state, wait, since, age, polls, busy, last, wakes,
                           self-wakes or delay; numbers from the greatest [default: id]
    -r, --reverse          Reverses the order
    -f, --filter <TEXT>    Only tasks in whose name, site, type or wait the text occurs
        --state <STATE>    Only tasks that are waiting, queued or running
    -g, --group            Tasks from the same place that wait for the same thing in one row
    -n, --limit <N>        Prints so many rows, or `all` [default: 100]
    -w, --watch            Prints the table again each second, until Ctrl-C
        --json             Prints one JSON object, with the members of the console protocol
    -h, --help             Prints this help";

const DUMP: &str = "\
Prints what hangs in a program, and where every task waits.

Usage: cargo wakeful dump <PID|NAME> [OPTIONS]

The text is the one that the program prints itself on SIGQUIT; the guide's chapter `My program
hangs` explains it. The program has to run with WAKEFUL_CONSOLE=1.

Options:
        --no-ask    Wakes no task: without the stacks of `await`s, and with fewer certain verdicts
    -h, --help      Prints this help";

const CONSOLE: &str = "\
Shows a running program on a page in the browser: figures over the last minute, what hangs, tasks,
what waits for what, locks and channels, stalls.

Usage: cargo wakeful console <PID|NAME> [OPTIONS]

The page is served to this machine only (127.0.0.1), and its address contains a secret: whoever has
it can read what the program does. Nothing on the page changes the program. The program has to run
with WAKEFUL_CONSOLE=1, and opens no port itself. Ctrl-C ends the page, not the program.

For a program on another machine: `ssh -L 8123:127.0.0.1:8123 HOST cargo wakeful console --port 8123
--no-open PID`, and open the address that it prints.

Options:
    -p, --port <PORT>    The port of the page [default: a free one]
        --no-open        Does not start the browser, and only prints the address
    -h, --help           Prints this help";

const PROFILE: &str = "\
Records where the time of a program's tasks goes.

Usage: cargo wakeful profile <PID|NAME> [OPTIONS]

Two kinds of time are recorded:
    busy       how long polls took, by the place that spawned the task, and by its future
    waiting    how long tasks waited, by the stack of `await`s, and by what the innermost waits for

Busy time is the difference of what the program records for each task. What a task did in the last
quarter of a second before its end is not seen. Waiting time is sampled: each half second up to
1,000 waiting tasks are woken to ask them for their stacks, and stand for all. Busy time does not
contain these polls. The times of tasks are added up: in 10 s, 8 tasks can wait for 80 s.

A table of both is printed, unless the folded stacks are. The program has to run with
WAKEFUL_CONSOLE=1; with `nopoll` in that variable, there is only busy time. Waiting time has files
and lines if the program is built with `debug = \"line-tables-only\"`.

Options:
        --for <TIME>       How long to record, such as 30s, 500ms or 2min [default: 10s]
        --busy             Only busy time
        --waiting          Only waiting time
        --folded <FILE>    Writes folded stacks, a line `outer;inner MICROSECONDS` each, for tools
                           that draw flame graphs; `-` prints them instead of the table
        --pprof <FILE>     Writes a profile that `pprof` and tools like it read
    -h, --help             Prints this help";
