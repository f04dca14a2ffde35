//! `cargo wakeful`: runs a Tokio program on Wakeful, for one call or for good.
//!
//! For one call, without changing the program (`run`, `test`, `build` and others):
//!
//! ```text
//! invocation ─▶ drop_in ─▶ program ─▶ lock_file ─▶ resolve ─▶ cargo ─▶ lock_file ─▶ runner
//! parse the     find our   find the   save         patch,     build    restore      start the
//! arguments     tokio      program    Cargo.lock   check               Cargo.lock   program
//! ```
//!
//! The patch is passed to cargo by `--config`, so no manifest is changed. The patch does change
//! the content of `Cargo.lock`, and cargo has no stable option for another lock file. So
//! [`lock_file`] saves `Cargo.lock` and restores it as soon as everything is built, which
//! [`runner`] notices. [`signals`] makes sure that this happens after Ctrl-C too.
//!
//! If the drop-in did not replace Tokio, nothing is run, and [`not_replaced`] explains why.
//! [`built`] checks afterwards what commands that are not cargo's own have built.
//!
//! For good: [`patch`] writes the patch into `Cargo.toml` and takes it out. [`doctor`] says
//! beforehand what would not work.
//!
//! For programs that run: [`look`] shows what they do.

mod built;
mod cargo;
mod doctor;
mod drop_in;
mod invocation;
mod lock_file;
mod look;
mod not_replaced;
mod output;
mod patch;
mod program;
mod resolve;
mod runner;
mod signals;
mod tokio_package;

use std::env;
use std::os::unix::process::CommandExt;
use std::process::{Command, ExitCode};
use std::time::SystemTime;

use cargo::{Cargo, CargoExit};
use drop_in::DropIn;
use invocation::{Invocation, Request};
use lock_file::SharedLoan;
use output::{print_line, print_note};
use program::Program;
use runner::RunnerLink;

/// The reason why the user's command was not run.
enum Stop {
    /// An error message for the user.
    Message(String),
    /// A call of cargo failed and has already printed its error, or a signal arrived.
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
    let outcome = match request {
        Request::Help(topic) => {
            print_line(invocation::help(topic, &drop_in::default_checkout()));
            Ok(ExitCode::SUCCESS)
        }
        Request::Version => {
            print_line(concat!("cargo-wakeful ", env!("CARGO_PKG_VERSION")));
            Ok(ExitCode::SUCCESS)
        }
        Request::Run(call) => run(&call).map(CargoExit::pass_on),
        Request::Add(options) => patch::add(&options),
        Request::Remove(options) => patch::remove(&options),
        Request::Doctor(options) => doctor::run(&options),
        Request::Look(look) => look::run(&look),
        Request::Toolchain { name, args } => Err(Stop::Message(run_on_toolchain(&name, &args))),
        Request::Exec(args) => Err(Stop::Message(runner::exec(&args))),
    };
    match outcome {
        Ok(code) => code,
        Err(stop) => {
            // The signal may have arrived after the last call of cargo had ended, so that call's
            // exit status does not tell.
            signals::received().into_iter().for_each(signals::die_from);
            match stop {
                Stop::CargoFailed(ended) => ended.pass_on(),
                Stop::Message(message) => print_error(&message),
            }
        }
    }
}

/// Runs the user's command of cargo with Wakeful in place of Tokio.
fn run(call: &Invocation) -> Result<CargoExit, Stop> {
    if call.asks_for_help {
        return Ok(Cargo::new().args(&call.command).args(&call.args).run()?);
    }
    signals::install_handlers();
    let drop_in = DropIn::find()?;
    let program = Program::find(&call.resolve_args)?;
    if call.is_locked {
        Program::check_locked(call)?;
    }
    let mut loan = lock_file::borrow(&program.workspace_root)?;
    if let Err(stop) = resolve::prepare(call, &drop_in) {
        loan.give_back()?;
        return Err(stop);
    }
    loan.mark_prepared()?;
    if !call.is_quiet {
        print_note(format_args!("on {}, {}", drop_in.title(), drop_in.dir.display()));
        if doctor::is_unstable(&program) {
            print_note(
                "note: `--cfg tokio_unstable` is set, and Wakeful has no task dumps of Tokio's.\n\
                 If an error below is about such an item: `cargo wakeful doctor` says what to do.",
            );
        }
    }
    let start = SystemTime::now();
    let loan = SharedLoan::new(loan);
    let ended = run_cargo(call, &drop_in, &program, &loan);
    loan.end()?;
    if call.is_external {
        if let Some(dir) = built::tokio_built_since(start, &program.target_dir) {
            return Err(Stop::Message(format!(
                "`cargo {}` has built Tokio ({}) and not Wakeful: its outcome says nothing about Wakeful.\n\
                 Use `cargo wakeful add`, run the command without `wakeful`, and then `cargo wakeful remove`.",
                call.command.join(" "),
                dir.display()
            )));
        }
    }
    Ok(ended?)
}

fn run_cargo(
    call: &Invocation,
    drop_in: &DropIn,
    program: &Program,
    loan: &SharedLoan,
) -> Result<CargoExit, String> {
    // The options follow the command: those before it do not reach a command of another program.
    let cargo = Cargo::new().args(&call.command).args(drop_in.cargo_options());
    let cargo = cargo.env("CARGO_TARGET_DIR", &program.target_dir);
    let folder = env::current_dir().map_err(|error| format!("no current folder: {error}"))?;
    if !call.runs_something() || runner::user_has_runner(&folder, &call.args) {
        return cargo.args(&call.args).run();
    }
    let ends_loan = {
        let loan = loan.clone();
        // The call of `end` after cargo's end returns the error, if there is one.
        move || drop(loan.end())
    };
    let link_failed = |error| format!("could not prepare the start of the program: {error}");
    let link = RunnerLink::new(ends_loan).map_err(link_failed)?;
    let options = link.cargo_options(&program::targets(call)).map_err(link_failed)?;
    cargo.inherit(link.descriptor()).args(options).args(&call.args).run()
}

/// Replaces this process by the same call with another toolchain. Returns the message if it fails.
fn run_on_toolchain(name: &str, args: &[String]) -> String {
    let own_path = match env::current_exe() {
        Ok(path) => path,
        Err(error) => return format!("could not find the path of cargo-wakeful: {error}"),
    };
    // Without CARGO, the cargo of the toolchain is used and not the one that started this process.
    let mut rustup = Command::new("rustup");
    rustup.args(["run", name]).arg(own_path).args(args).env_remove("CARGO");
    let error = rustup.exec();
    format!("`+{name}` needs rustup, which could not be run: {error}")
}

fn print_error(message: &str) -> ExitCode {
    print_note(message);
    ExitCode::from(101)
}
