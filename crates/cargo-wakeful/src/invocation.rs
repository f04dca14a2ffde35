//! The command line: what the user requested, and the cargo options that cargo-wakeful must know.

use std::path::PathBuf;

mod help;
pub mod look;
#[cfg(test)]
mod tests;

pub use help::{Topic, help};
use look::Look;

/// A command of cargo that can run with Wakeful in place of Tokio.
struct Supported {
    name: &'static str,
    short: &'static str,
    /// Whether another program implements it. Cargo does not pass its own options on to such a
    /// program, so the tool checks afterwards that Wakeful was built.
    is_external: bool,
}

const fn built_in(name: &'static str, short: &'static str) -> Supported {
    Supported { name, short, is_external: false }
}

const fn external(name: &'static str) -> Supported {
    Supported { name, short: "", is_external: true }
}

const SUPPORTED: [Supported; 9] = [
    built_in("run", "r"),
    built_in("test", "t"),
    built_in("build", "b"),
    built_in("bench", ""),
    built_in("check", "c"),
    built_in("doc", "d"),
    built_in("tree", ""),
    external("clippy"),
    external("nextest"),
];

/// The commands of `cargo nextest` that build a program.
const NEXTEST_COMMANDS: [&str; 5] = ["run", "r", "list", "bench", "archive"];

/// Options whose value may be the next word. Needed to distinguish such a value from the first
/// argument of the program that `cargo run` runs.
const OPTIONS_WITH_VALUE: [&str; 26] = [
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
    "--invert",
    "-i",
    "--filterset",
    "-E",
    "--cargo-profile",
    "--partition",
];

/// The keys of a manifest, and options of `add`, that select a commit of a git repository.
pub const GIT_KEYS: [&str; 3] = ["branch", "tag", "rev"];

/// A request of the user.
#[derive(Debug, PartialEq)]
pub enum Request {
    Help(Topic),
    Version,
    Run(Invocation),
    Add(Edit),
    Remove(Edit),
    Doctor(Doctor),
    Look(Look),
    /// The rest of the call is to be repeated with another toolchain of rustup.
    Toolchain {
        name: String,
        args: Vec<String>,
    },
    /// Cargo calls this program as the runner of a program that it has built.
    Exec(Vec<String>),
}

/// A call of cargo to be made with Wakeful in place of Tokio.
#[derive(Debug, Default, PartialEq)]
pub struct Invocation {
    /// The words that select the command: `test`, or `nextest run`.
    pub command: Vec<String>,
    /// Everything after the command, as the user wrote it.
    pub args: Vec<String>,
    /// The options in `args` that select the program and affect its resolution. Every cargo command
    /// accepts them.
    pub resolve_args: Vec<String>,
    /// The options in `args` that select features.
    pub feature_args: Vec<String>,
    /// The values of all `--target` options.
    pub targets: Vec<String>,
    /// Whether `--locked` or `--frozen` was given: the program's lock file must be up to date.
    pub is_locked: bool,
    /// Whether `--help` was given, which shows cargo's own options and needs no program.
    pub asks_for_help: bool,
    /// Whether `--quiet` was given.
    pub is_quiet: bool,
    /// Whether another program than cargo implements the command.
    pub is_external: bool,
}

impl Invocation {
    /// Returns whether cargo may start what it has built.
    pub fn runs_something(&self) -> bool {
        ["run", "r", "test", "t", "bench", "nextest"].contains(&self.command[0].as_str())
    }
}

/// The options of `cargo wakeful add` and `cargo wakeful remove`.
#[derive(Debug, Default, PartialEq)]
pub struct Edit {
    pub manifest_path: Option<PathBuf>,
    /// A git repository of Wakeful, for the patch to name instead of the checkout.
    pub git: Option<String>,
    /// `branch`, `tag` or `rev`, and its value.
    pub git_at: Option<(&'static str, String)>,
    /// Shows what would change, and changes nothing.
    pub is_dry_run: bool,
    pub is_offline: bool,
}

/// The options of `cargo wakeful doctor`.
#[derive(Debug, Default, PartialEq)]
pub struct Doctor {
    pub manifest_path: Option<PathBuf>,
    pub prints_json: bool,
    pub is_offline: bool,
}

/// Returns the options that select the program, for every cargo command.
pub fn selection(manifest_path: Option<&PathBuf>, is_offline: bool) -> Vec<String> {
    let mut args = Vec::new();
    if let Some(path) = manifest_path {
        args.extend(["--manifest-path".to_owned(), path.to_string_lossy().into_owned()]);
    }
    if is_offline {
        args.push("--offline".to_owned());
    }
    args
}

/// Parses the arguments after the program's name. Cargo inserts `wakeful` as the first; in a direct
/// call of `cargo-wakeful` it is optional.
pub fn parse(words: impl Iterator<Item = String>) -> Result<Request, String> {
    let mut words = words.peekable();
    words.next_if(|word| word == "wakeful");
    let Some(first) = words.next() else {
        return Ok(Request::Help(Topic::All));
    };
    let args: Vec<String> = words.collect();
    match first.as_str() {
        "--help" | "-h" => return Ok(Request::Help(Topic::All)),
        "help" => return Ok(Request::Help(Topic::named(args.first().map(String::as_str)))),
        "--version" | "-V" => return Ok(Request::Version),
        crate::runner::EXEC => return Ok(Request::Exec(args)),
        "add" => return edit(Topic::Add, args),
        "remove" | "rm" => return edit(Topic::Remove, args),
        "doctor" => return doctor(args),
        "ps" => return look::parse(Topic::Ps, args),
        "dump" => return look::parse(Topic::Dump, args),
        "console" => return look::parse(Topic::Console, args),
        "profile" => return look::parse(Topic::Profile, args),
        _ => {}
    }
    if let Some(name) = first.strip_prefix('+') {
        return Ok(Request::Toolchain { name: name.to_owned(), args });
    }
    let Some(supported) =
        SUPPORTED.iter().find(|known| first == known.name || first == known.short)
    else {
        return Err(unknown_command(&first));
    };
    let mut args = args.into_iter().peekable();
    let mut command = vec![first];
    if supported.name == "nextest" {
        match args.next_if(|word| NEXTEST_COMMANDS.contains(&word.as_str())) {
            Some(word) => command.push(word),
            None if args.peek().is_some_and(|word| word == "--help" || word == "-h") => {}
            None => {
                return Err(
                    "`nextest` needs its own command next, as in `cargo wakeful nextest run`; \
                     `list`, `bench` and `archive` work too"
                        .into(),
                );
            }
        }
    }
    let call = Invocation { command, is_external: supported.is_external, ..Invocation::default() };
    Ok(Request::Run(read_options(call, args.collect())?))
}

fn unknown_command(name: &str) -> String {
    if name.starts_with('-') {
        return format!(
            "the option `{name}` stands before the command; options go after it, as in\n\
             `cargo wakeful run --release`. See `cargo wakeful --help`."
        );
    }
    let names: Vec<&str> = SUPPORTED.iter().map(|known| known.name).collect();
    format!(
        "`{name}` is not a command that cargo-wakeful can run; the commands are: {}.\n\
         For any other command of cargo: `cargo wakeful add` writes the patch into Cargo.toml, and\n\
         `cargo wakeful remove` takes it out afterwards. See `cargo wakeful --help`.",
        names.join(", ")
    )
}

fn read_options(mut call: Invocation, args: Vec<String>) -> Result<Invocation, String> {
    let is_run = ["run", "r"].contains(&call.command[0].as_str());
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
            if value.is_none() && !["--invert", "-i"].contains(&name) {
                return Err(format!("`{name}` needs a value"));
            }
        }
        match (name, value) {
            ("--manifest-path" | "--config" | "-Z", Some(value)) => {
                call.resolve_args.extend([name.to_owned(), value.to_owned()]);
            }
            ("--features" | "-F", Some(value)) => {
                call.feature_args.extend(["--features".to_owned(), value.to_owned()]);
            }
            ("--all-features" | "--no-default-features", _) => {
                call.feature_args.push(name.to_owned());
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
            ("--quiet" | "-q", _) => call.is_quiet = true,
            ("--locked", _) => call.is_locked = true,
            ("--frozen", _) => {
                call.is_locked = true;
                call.resolve_args.push("--offline".to_owned());
            }
            _ => {}
        }
    }
    Ok(Invocation { args, ..call })
}

/// Parses the options of `add` and `remove`.
fn edit(topic: Topic, args: Vec<String>) -> Result<Request, String> {
    let mut options = Edit::default();
    let mut rest = args.into_iter();
    while let Some(word) = rest.next() {
        match word.as_str() {
            "--help" | "-h" => return Ok(Request::Help(topic)),
            "--dry-run" | "-n" => options.is_dry_run = true,
            "--offline" => options.is_offline = true,
            "--git" | "--branch" | "--tag" | "--rev" if topic == Topic::Add => {
                let value = rest.next().ok_or_else(|| format!("`{word}` needs a value"))?;
                match GIT_KEYS.into_iter().find(|key| word[2..] == **key) {
                    Some(key) => options.git_at = Some((key, value)),
                    None => options.git = Some(value),
                }
            }
            _ => options.manifest_path = Some(manifest_path(&word, &mut rest, topic)?),
        }
    }
    if options.git.is_none() && options.git_at.is_some() {
        return Err(
            "`--branch`, `--tag` and `--rev` need `--git` with the URL of a repository".into()
        );
    }
    Ok(if topic == Topic::Add { Request::Add(options) } else { Request::Remove(options) })
}

/// Parses the options of `doctor`.
fn doctor(args: Vec<String>) -> Result<Request, String> {
    let mut options = Doctor::default();
    let mut rest = args.into_iter();
    while let Some(word) = rest.next() {
        match word.as_str() {
            "--help" | "-h" => return Ok(Request::Help(Topic::Doctor)),
            "--json" => options.prints_json = true,
            "--offline" => options.is_offline = true,
            _ => options.manifest_path = Some(manifest_path(&word, &mut rest, Topic::Doctor)?),
        }
    }
    Ok(Request::Doctor(options))
}

/// Returns the value of `--manifest-path`, the only option that may be left.
fn manifest_path(
    word: &str,
    rest: &mut impl Iterator<Item = String>,
    topic: Topic,
) -> Result<PathBuf, String> {
    const NAME: &str = "--manifest-path";
    if word == NAME {
        return rest.next().map(PathBuf::from).ok_or_else(|| format!("`{NAME}` needs a value"));
    }
    word.strip_prefix(NAME).and_then(|value| value.strip_prefix('=')).map(PathBuf::from).ok_or_else(
        || {
            format!(
                "`cargo wakeful {0}` does not know `{word}`; see `cargo wakeful {0} --help`",
                topic.name()
            )
        },
    )
}
