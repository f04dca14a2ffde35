//! What the user asked for: the part of cargo's command line that we have to understand.

use std::path::Path;

#[cfg(test)]
mod tests;

/// The subcommands of cargo that build for the program's own sake, with their short names.
const SUBCOMMANDS: [(&str, &str); 5] =
    [("run", "r"), ("test", "t"), ("build", "b"), ("bench", ""), ("check", "c")];

/// Options whose value may be the next word. Needed to tell a value from `cargo run`'s first word for the program.
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

/// What `cargo wakeful …` is to do.
#[derive(Debug, PartialEq)]
pub enum Request {
    Help,
    Version,
    Run(Invocation),
}

/// One call of cargo, to be made with Wakeful in Tokio's place.
#[derive(Debug, Default, PartialEq)]
pub struct Invocation {
    pub subcommand: String,
    /// All that follows it, as the user wrote it.
    pub args: Vec<String>,
    /// Those of `args` that say which program is meant and how it is resolved; any cargo command takes them.
    pub resolve_args: Vec<String>,
    /// `--target`, as often as given.
    pub targets: Vec<String>,
    /// `--locked` or `--frozen`: the program's lock file must be right as it is.
    pub is_locked: bool,
    /// `--help`: a question about cargo's own options, for which no program is needed.
    pub asks_for_help: bool,
}

/// Reads the words after the program's name. Cargo puts `wakeful` first, a direct call need not.
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
            "`{first}` is none of the commands that can be run on Wakeful: {names}.\n\
             Options go after the command, as in `cargo wakeful run --release`; `cargo wakeful --help` tells more."
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
                return Err(format!("`{name}` needs a value after it"));
            }
        }
        match (name, value) {
            ("--manifest-path" | "--config" | "-Z", Some(value)) => {
                call.resolve_args.extend([name.to_owned(), value.to_owned()]);
            }
            ("--target", Some(value)) => call.targets.push(value.to_owned()),
            ("--lockfile-path", _) => {
                return Err(
                    "`--lockfile-path` is of no use here: Cargo.lock comes back as it was".into()
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

/// The text of `cargo wakeful --help`.
pub fn help(drop_in: &Path) -> String {
    format!(
        "\
Runs a program that is written for Tokio on Wakeful: for one call, with no edit.

Usage: cargo wakeful run|test|build|bench|check [OPTIONS OF THAT CARGO COMMAND]

    cargo wakeful run --release -- --port 8080
    cargo wakeful test --workspace

Puts Wakeful's `tokio` in place of Tokio for that call, and checks that it took. Cargo.toml is not touched; Cargo.lock
is another one while the call lasts, and then what it was, byte for byte, also after Ctrl-C. (After `kill -9`, the next
`cargo wakeful` in that workspace puts it back. What others change in it meanwhile is lost.)

What is built goes to the folder `wakeful` in the program's target folder; --target-dir and CARGO_TARGET_DIR name another.

Environment:
    WAKEFUL_PATH            a checkout of Wakeful, if not {}
    WAKEFUL_STALL_REPORT    1 has the program report tasks that block their thread

Options:
    -h, --help       this text (`cargo wakeful run --help` has cargo's options)
    -V, --version    the version",
        drop_in.display()
    )
}
