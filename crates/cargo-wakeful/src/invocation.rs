//! The command line: what the user requested, and the cargo options that cargo-wakeful must know.

use std::path::Path;

#[cfg(test)]
mod tests;

/// The supported subcommands of cargo, with their short names.
const SUBCOMMANDS: [(&str, &str); 5] =
    [("run", "r"), ("test", "t"), ("build", "b"), ("bench", ""), ("check", "c")];

/// Cargo's options whose value may be the next word. Needed to distinguish such a value from the
/// first argument of the program that `cargo run` runs.
const OPTIONS_WITH_VALUE: [&str; 20] = [
    "--package",
    "-p",
    "--exclude",
    "--bin",
    "--example",
    "--test",
    "--bench",
    "--jobs",
    "-j",
    "--profile",
    "--features",
    "-F",
    "--target",
    "--target-dir",
    "--manifest-path",
    "--message-format",
    "--color",
    "--config",
    "-Z",
    "--lockfile-path",
];

/// A request of the user.
#[derive(Debug, PartialEq)]
pub enum Request {
    Help,
    Version,
    Run(Invocation),
}

/// A call of cargo to be made with Wakeful in place of Tokio.
#[derive(Debug, Default, PartialEq)]
pub struct Invocation {
    pub subcommand: String,
    /// Everything after the subcommand, as the user wrote it.
    pub args: Vec<String>,
    /// The options in `args` that select the program and affect its resolution. Every cargo command
    /// accepts them.
    pub resolve_args: Vec<String>,
    /// The values of all `--target` options.
    pub targets: Vec<String>,
    /// Whether `--locked` or `--frozen` was given: the program's lock file must be up to date.
    pub is_locked: bool,
    /// Whether `--help` was given, which shows cargo's own options and needs no program.
    pub asks_for_help: bool,
}

/// Parses the arguments after the program's name. Cargo inserts `wakeful` as the first; in a direct
/// call of `cargo-wakeful` it is optional.
pub fn parse(words: impl Iterator<Item = String>) -> Result<Request, String> {
    let mut words = words.peekable();
    words.next_if(|word| word == "wakeful");
    let Some(first) = words.next() else {
        return Ok(Request::Help);
    };
    match first.as_str() {
        "--help" | "-h" | "help" => return Ok(Request::Help),
        "--version" | "-V" => return Ok(Request::Version),
        _ => {}
    }
    let known = SUBCOMMANDS.iter().any(|(name, short)| first == *name || first == *short);
    if !known || first.is_empty() {
        let names = SUBCOMMANDS.map(|(name, _)| name).join(", ");
        return Err(format!(
            "`{first}` is not a command that cargo-wakeful can run; the commands are: {names}.\n\
             Options go after the command, as in `cargo wakeful run --release`. See `cargo wakeful --help`."
        ));
    }
    let args: Vec<String> = words.collect();
    Ok(Request::Run(read_options(first, args)?))
}

fn read_options(subcommand: String, args: Vec<String>) -> Result<Invocation, String> {
    let mut call = Invocation::default();
    let is_run = subcommand == "run" || subcommand == "r";
    let mut rest = args.iter();
    while let Some(word) = rest.next() {
        if word == "--" || (is_run && !word.starts_with('-')) {
            break;
        }
        let (name, mut value) = match word.split_once('=') {
            Some((name, value)) if name.starts_with("--") => (name, Some(value)),
            _ => (word.as_str(), None),
        };
        if value.is_none() && OPTIONS_WITH_VALUE.contains(&name) {
            value = rest.next().map(String::as_str);
            if value.is_none() {
                return Err(format!("`{name}` needs a value"));
            }
        }
        match (name, value) {
            ("--manifest-path" | "--config" | "-Z", Some(value)) => {
                call.resolve_args.extend([name.to_owned(), value.to_owned()]);
            }
            ("--target", Some(value)) => call.targets.push(value.to_owned()),
            ("--lockfile-path", _) => {
                return Err(
                    "`--lockfile-path` is not supported: cargo-wakeful restores Cargo.lock itself"
                        .into(),
                );
            }
            ("--offline", _) => call.resolve_args.push("--offline".to_owned()),
            ("--help" | "-h", _) => call.asks_for_help = true,
            ("--locked", _) => call.is_locked = true,
            ("--frozen", _) => {
                call.is_locked = true;
                call.resolve_args.push("--offline".to_owned());
            }
            _ => {}
        }
    }
    Ok(Invocation { subcommand, args, ..call })
}

/// Returns the text of `cargo wakeful --help`.
pub fn help(drop_in: &Path) -> String {
    format!(
        "\
Runs a program written for Tokio on Wakeful, without changing the program.

Usage: cargo wakeful <run|test|build|bench|check> [OPTIONS OF THAT CARGO COMMAND]

    cargo wakeful run --release -- --port 8080
    cargo wakeful test --workspace

For this one command, Tokio is replaced by Wakeful's drop-in crate `tokio`. The command fails if Tokio cannot be
replaced. Cargo.toml is not changed. Cargo.lock is changed while the command runs and restored at its end, byte for
byte, also after Ctrl-C. (After `kill -9`, the next `cargo wakeful` in the workspace restores it. Changes that other
programs make to Cargo.lock meanwhile are lost.)

Build output goes to the folder `wakeful` in the target folder, unless --target-dir or CARGO_TARGET_DIR is given.

Environment:
    WAKEFUL_PATH            the path of a Wakeful checkout [default: {}]
    WAKEFUL_STALL_REPORT    set to 1 to make the program report tasks that block their thread

Options:
    -h, --help       Print this help (`cargo wakeful run --help` prints cargo's)
    -V, --version    Print the version",
        drop_in.display()
    )
}
