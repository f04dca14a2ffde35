//! What `cargo run` starts: a small service on Wakeful, and a page that shows the runtime at work.
//!
//! Two runtimes and a thread. The one on show carries the service (axum, on the drop-in), the tasks that
//! tick, and all that the page's buttons do. The clients are on another, so that their requests come from
//! outside ([`load`]). And who measures is on a thread of its own ([`figures`]): it sees what happens even
//! if the runtime stands still.

mod actions;
mod arguments;
mod check;
mod figures;
mod histogram;
mod journal;
mod listen;
mod live;
mod load;
mod response;
mod running;
mod service;
mod show;
mod stall_log;

use arguments::{Handoff, Wish};
use listen::USUAL_PORTS;
use running::Running;
use std::io::{self, Write};
use std::process::{self, ExitCode};
use wakeful::signal::unix::{Signal, SignalKind, signal};

fn main() -> ExitCode {
    let outcome = match arguments::parse(std::env::args().skip(1)) {
        Ok(Wish::Help) => {
            say(arguments::USAGE);
            Ok(())
        }
        Ok(Wish::Check(handoff)) => check::run(handoff),
        Ok(Wish::Serve(port, handoff)) => serve(port, handoff),
        Err(why) => {
            eprintln!("demo: {why}\n\n{}", arguments::USAGE);
            return ExitCode::from(2);
        }
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            eprintln!("demo: {why}");
            ExitCode::FAILURE
        }
    }
}

/// Serves until Ctrl-C, or until it is asked to end.
fn serve(port: Option<u16>, handoff: Handoff) -> Result<(), String> {
    let running = match port {
        Some(port) => Running::start([port], handoff),
        None => Running::start(USUAL_PORTS, handoff),
    };
    let running = running.map_err(|why| not_started(port, &why))?;
    let (mut interrupt, mut terminate) =
        running.runtime.block_on(async { signals() }).map_err(|why| format!("signals: {why}"))?;
    let usual = *USUAL_PORTS.start();
    let address = running.address;
    let taken = if port.is_none() && address.port() != usual {
        format!("port {usual} is taken; ")
    } else {
        String::new()
    };
    say(&format!("Wakeful at work: http://{address}/ ({taken}Ctrl-C ends it)"));
    running.runtime.block_on(async {
        wakeful::select! {
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {}
        }
    });
    running.runtime.spawn(async move {
        // Somebody is in a hurry.
        interrupt.recv().await;
        process::exit(130);
    });
    say(&running.stop());
    Ok(())
}

fn signals() -> io::Result<(Signal, Signal)> {
    Ok((signal(SignalKind::interrupt())?, signal(SignalKind::terminate())?))
}

fn not_started(port: Option<u16>, why: &io::Error) -> String {
    match (why.kind(), port) {
        (io::ErrorKind::AddrInUse, Some(port)) => {
            format!("port {port} is taken; `--port 0` takes any that is free")
        }
        (io::ErrorKind::AddrInUse, None) => {
            let (first, last) = (USUAL_PORTS.start(), USUAL_PORTS.end());
            format!("ports {first} to {last} are all taken; `--port 0` takes any that is free")
        }
        _ => format!("the service could not be started: {why}"),
    }
}

/// Prints a line. That nobody reads it is no reason to end.
fn say(line: &str) {
    let mut out = io::stdout().lock();
    let _nobody_reads = writeln!(out, "{line}").and_then(|()| out.flush());
}
