//! `cargo wakeful run|test|build|bench|check`: a Tokio program on Wakeful for one call, as it is.
//!
//! ```text
//! call ──▶ drop_in ──▶ program ──▶ lock_file::borrow ──▶ patched ──▶ cargo SUBCOMMAND ──▶ lock_file put back
//! what is   where our   where it    Cargo.lock saved      resolve,    the user's call      as it was
//! asked     tokio is    lies                              check
//! ```
//!
//! The patch is a `--config` of the cargo calls, so no manifest is touched. Cargo has no stable way to use another lock
//! file, and a patch changes what is in it; so `Cargo.lock` is lent to the call, and [`lock_file`] sees that it comes back.

mod cargo;
mod drop_in;
mod invocation;
mod lock_file;
mod not_replaced;
mod program;
mod resolve;
mod signals;
mod tokio_package;

use std::env;
use std::process::ExitCode;

use cargo::{Cargo, CargoExit};
use drop_in::DropIn;
use invocation::{Invocation, Request};
use program::Program;

/// Why nothing was run, or how what was run ended.
enum Stop {
    /// A message for the user.
    Message(String),
    /// Cargo has said it already.
    CargoFailed(CargoExit),
}

impl From<String> for Stop {
    fn from(message: String) -> Stop {
        Stop::Message(message)
    }
}

fn main() -> ExitCode {
    let asked = match invocation::parse(env::args().skip(1)) {
        Ok(asked) => asked,
        Err(message) => return print_error(&message),
    };
    match asked {
        Request::Help => println!("{}", invocation::help(&drop_in::default_checkout())),
        Request::Version => println!("cargo-wakeful {}", env!("CARGO_PKG_VERSION")),
        Request::Run(call) => {
            return match run(&call) {
                Ok(ended) | Err(Stop::CargoFailed(ended)) => ended.pass_on(),
                Err(Stop::Message(message)) => {
                    signals::received().into_iter().for_each(signals::die_from);
                    print_error(&message)
                }
            };
        }
    }
    ExitCode::SUCCESS
}

fn run(call: &Invocation) -> Result<CargoExit, Stop> {
    let asked_for = |cargo: Cargo| cargo.args([&call.subcommand]).args(&call.args);
    if call.asks_for_help {
        return Ok(asked_for(Cargo::new()).run()?);
    }
    signals::install_handlers();
    let drop_in = DropIn::find()?;
    let program = Program::find(call)?;
    if call.is_locked {
        program.check_locked(call)?;
    }
    let mut lent = lock_file::borrow(&program.workspace_root)?;
    let ended = resolve::prepare(call, &drop_in).and_then(|()| {
        lent.mark_prepared()?;
        let patched = drop_in.cargo().env("CARGO_TARGET_DIR", &program.target_dir);
        Ok(asked_for(patched).run()?)
    });
    lent.give_back()?;
    ended
}

fn print_error(message: &str) -> ExitCode {
    eprintln!("cargo wakeful: {message}");
    ExitCode::from(101)
}
