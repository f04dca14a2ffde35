//! `cargo wakeful ps`, `dump`, `console` and `profile`: what a running program does.
//!
//! ```text
//! invocation ─▶ sockets ─▶ client ────────────▶ ps | dump | console | profile
//! what to       find the   connect, ask, by     print it, or serve a page
//! show          program    the protocol         that asks for it, or write files
//! ```
//!
//! A program that runs with `WAKEFUL_CONSOLE` listens on a unix socket, and answers in the console
//! protocol, `docs/design/console-protocol.md`. No command changes what the program does.

mod client;
mod console;
mod profile;
mod ps;
mod sockets;
mod table;
mod terminal;
mod units;

use std::process::ExitCode;

use serde_json::json;

use crate::Stop;
use crate::invocation::look::{Look, Target};
use crate::output::print_text;
use client::Client;

/// Runs one of the commands.
pub fn run(look: &Look) -> Result<ExitCode, Stop> {
    match look {
        Look::List(options) => ps::list(options),
        Look::Tasks(target, options) => ps::tasks(target, options),
        Look::Dump { target, asks } => dump(target, *asks),
        Look::Console(target, options) => console::run(target, options),
        Look::Profile(target, options) => profile::run(target, options),
    }?;
    Ok(ExitCode::SUCCESS)
}

/// Finds the program and connects to it.
fn connect(target: &Target) -> Result<Client, String> {
    match target {
        Target::Pid(pid) => Client::connect(&sockets::of_process(*pid)?),
        Target::Name(name) => {
            let named = |client: &Client| client.program_name() == name || client.program == *name;
            let mut found: Vec<Client> =
                sockets::list().iter().flat_map(Client::connect).filter(named).collect();
            match found.len() {
                1 => Ok(found.remove(0)),
                0 => Err(format!(
                    "no program named `{name}` listens. `cargo wakeful ps` lists those that do; \
                     start\none with WAKEFUL_CONSOLE=1"
                )),
                _ => {
                    let pids: Vec<String> = found.iter().map(|it| it.pid.to_string()).collect();
                    Err(format!(
                        "several processes are named `{name}`: {}. Name one of them by its number",
                        pids.join(", ")
                    ))
                }
            }
        }
    }
}

fn dump(target: &Target, asks: bool) -> Result<(), String> {
    let mut client = connect(target)?;
    let answer = client.ask(json!({ "get": "dump", "ask": asks }))?;
    print_text(answer["text"].as_str().unwrap_or_default());
    Ok(())
}
