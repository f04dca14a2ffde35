//! `cargo wakeful run|test|build|bench|check`: runs a Tokio program on Wakeful without changing it.
//!
//! ```text
//! invocation ─▶ drop_in ─▶ program ─▶ lock_file ─▶ resolve ─▶ cargo SUBCOMMAND ─▶ lock_file
//! parse the     find our   find the   save         patch,     the user's call     restore
//! arguments     tokio      program    Cargo.lock   check                          Cargo.lock
//! ```
//!
//! The patch is passed to cargo by `--config`, so no manifest is changed. The patch does change the
//! content of `Cargo.lock`, and cargo has no stable option for another lock file. So [`lock_file`]
//! saves `Cargo.lock` and restores it afterwards. [`signals`] makes sure that this happens after
//! Ctrl-C too.
//!
//! If the drop-in did not replace Tokio, nothing is run, and [`not_replaced`] explains why.

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

/// The reason why the user's command was not run.
enum Stop {
    /// An error message for the user.
    Message(String),
    /// A call of cargo failed and has already printed its error.
    CargoFailed(CargoExit),
}

impl From<String> for Stop {
    fn from(message: String) -> Stop {
        Stop::Message(message)
    }
}

fn main() -> ExitCode {
    let request = match invocation::parse(env::args().skip(1)) {
        Ok(request) => request,
        Err(message) => return print_error(&message),
    };
    match request {
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
    let user_command = |cargo: Cargo| cargo.args([&call.subcommand]).args(&call.args);
    if call.asks_for_help {
        return Ok(user_command(Cargo::new()).run()?);
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
        Ok(user_command(patched).run()?)
    });
    lent.give_back()?;
    ended
}

fn print_error(message: &str) -> ExitCode {
    eprintln!("cargo wakeful: {message}");
    ExitCode::from(101)
}
