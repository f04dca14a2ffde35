//! A small service on Wakeful, and a page that shows the runtime at work. `cargo run` in the
//! workspace starts it.
//!
//! There are two runtimes and a thread. The runtime on show runs the service (axum, on the
//! drop-in), the tasks that tick, and everything that the page's buttons do. The clients run on the
//! other one, so that their requests come from outside ([`load`]). The measurements are taken on a
//! separate thread ([`figures`]), which works even if the runtime is stuck.

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

use arguments::{Handoff, Invocation};
use listen::USUAL_PORTS;
use running::Running;
use std::io::{self, Write};
use std::process::{self, ExitCode};
use wakeful::signal::unix::{Signal, SignalKind, signal};

fn main() -> ExitCode {
    let outcome = match arguments::parse(std::env::args().skip(1)) {
        Ok(Invocation::Help) => {
            say(arguments::USAGE);
            Ok(())
        }
        Ok(Invocation::Check(handoff)) => check::run(handoff),
        Ok(Invocation::Serve(port, handoff)) => serve(port, handoff),
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

/// Serves until Ctrl-C or `SIGTERM`.
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
        // A second Ctrl-C exits at once.
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
        _ => format!("cannot start the service: {why}"),
    }
}

/// Prints a line. A closed standard output is not an error.
fn say(line: &str) {
    let mut out = io::stdout().lock();
    let _closed = writeln!(out, "{line}").and_then(|()| out.flush());
}
