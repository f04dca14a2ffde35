//! Small programs that hang, each for another reason, with a healthy twin each.
//!
//! They are plain Tokio programs, and know nothing of what the tests look for in them. A program
//! prints `ready` just before its last step into the hang. Its twin has the same shape without the
//! mistake, prints `ready` too, and then `tick` again and again.
//!
//! ```text
//! hung NAME --flavor mt|ct [--healthy]
//! ```
//!
//! The programs in `dumped`, `goes_on` and `input` are for the tests of those names; they have no
//! twins. Those in `shown` are to be looked at, and have no twins either.

use std::env;
use std::process::ExitCode;

use tokio::runtime::Builder;

mod abba;
mod barrier_short;
mod blocked_workers;
mod buffered;
mod dumped;
mod forgotten_permit;
mod full_channels;
mod futurelock;
mod futures_unordered;
mod goes_on;
mod held_across_read;
mod input;
mod join_cycle;
mod join_locks;
mod lost_waker;
mod missed_notify;
mod nested_acquire;
mod nobody_drives;
mod once_cell_in_itself;
mod own_sender;
mod pool_of_one;
mod relock;
mod rwlock_upgrade;
mod shown;
mod spinning;
mod starved;
mod std_lock;
mod three_way_cycle;
mod unpolled_local_set;

/// A program and its twin.
struct Program {
    name: &'static str,
    run: fn(&mut Builder),
    healthy: Option<fn(&mut Builder)>,
}

macro_rules! program {
    ($name:ident) => {
        Program {
            name: stringify!($name),
            run: |builder| $name::hung(builder.build().unwrap()),
            healthy: Some(|builder| $name::healthy(builder.build().unwrap())),
        }
    };
    ($name:ident with builder) => {
        Program { name: stringify!($name), run: $name::hung, healthy: Some($name::healthy) }
    };
    ($folder:ident::$name:ident) => {
        Program {
            name: stringify!($name),
            run: |builder| $folder::$name::run(builder.build().unwrap()),
            healthy: None,
        }
    };
    ($folder:ident::$name:ident with builder) => {
        Program { name: stringify!($name), run: $folder::$name::run, healthy: None }
    };
}

const PROGRAMS: &[Program] = &[
    program!(abba),
    program!(relock),
    program!(rwlock_upgrade),
    program!(futurelock),
    program!(buffered),
    program!(futures_unordered),
    program!(own_sender),
    program!(full_channels),
    program!(forgotten_permit),
    program!(nested_acquire),
    program!(join_cycle),
    program!(missed_notify),
    program!(held_across_read),
    program!(blocked_workers),
    program!(lost_waker),
    program!(spinning),
    program!(starved),
    program!(nobody_drives),
    program!(pool_of_one with builder),
    program!(barrier_short),
    program!(once_cell_in_itself),
    program!(three_way_cycle),
    program!(unpolled_local_set),
    program!(join_locks),
    program!(std_lock),
    program!(dumped::issue_6035),
    program!(dumped::issue_6051),
    program!(dumped::issue_6343),
    program!(dumped::issue_7478),
    program!(dumped::issue_8391),
    program!(dumped::issue_8434),
    program!(goes_on::aborted_join),
    program!(goes_on::moved_future),
    program!(goes_on::moved_grant),
    program!(goes_on::moved_guard),
    program!(goes_on::moved_initializer),
    program!(goes_on::moved_leaked_guard),
    program!(goes_on::moved_read_guard),
    program!(goes_on::moved_write_guard),
    program!(input::two_runtimes),
    program!(input::shuts_down with builder),
    program!(input::own_listener),
    program!(input::own_handler with builder),
    program!(input::forks),
    program!(input::children),
    program!(shown::service),
    program!(shown::crowd),
];

fn main() -> ExitCode {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let (name, flavor, is_healthy) = match arguments[..] {
        [name, "--flavor", flavor] => (name, flavor, false),
        [name, "--flavor", flavor, "--healthy"] => (name, flavor, true),
        _ => return usage(),
    };
    let mut builder = match flavor {
        "mt" => Builder::new_multi_thread(),
        "ct" => Builder::new_current_thread(),
        _ => return usage(),
    };
    let Some(program) = PROGRAMS.iter().find(|program| program.name == name) else {
        return usage();
    };
    let run = if is_healthy { program.healthy } else { Some(program.run) };
    let Some(run) = run else {
        return usage();
    };
    run(builder.worker_threads(2).enable_all());
    ExitCode::SUCCESS
}

fn usage() -> ExitCode {
    eprintln!("usage: hung NAME --flavor mt|ct [--healthy], where NAME is one of");
    for program in PROGRAMS {
        eprintln!("    {}", program.name);
    }
    ExitCode::FAILURE
}
