//! `cargo run -p tour`: lists the steps of the tour, or runs one, or all.

use std::env;
use std::io::{self, ErrorKind, Write};
use std::process::ExitCode;

use tour::timeline::Timeline;
use tour::{STEPS, Step};

const USAGE: &str = "\
cargo run -p tour              lists the steps
cargo run -p tour -- STEP      runs one, by its number or its name, and prints its timeline
cargo run -p tour -- all       runs all of them";

fn main() -> ExitCode {
    let words: Vec<String> = env::args().skip(1).collect();
    let choice = match chosen(&words) {
        Ok(choice) => choice,
        Err(why) => {
            eprintln!("{why}");
            return ExitCode::from(2);
        }
    };
    let mut out = io::stdout();
    let done = match choice {
        Choice::List => list(&mut out),
        Choice::Run(steps) => steps.iter().try_for_each(|step| run(step, &mut out)),
    };
    match done {
        Err(why) if why.kind() != ErrorKind::BrokenPipe => {
            eprintln!("cannot write to the terminal: {why}");
            ExitCode::FAILURE
        }
        // Whoever pipes the tour into `head` has seen enough.
        _ => ExitCode::SUCCESS,
    }
}

/// What the visitor asked for.
enum Choice {
    List,
    Run(&'static [Step]),
}

fn chosen(words: &[String]) -> Result<Choice, String> {
    match words {
        [] => Ok(Choice::List),
        [word] if matches!(word.as_str(), "-h" | "--help" | "help" | "list") => Ok(Choice::List),
        [word] if word == "all" => Ok(Choice::Run(STEPS)),
        [word] => find(word).map(|index| Choice::Run(&STEPS[index..=index])),
        _ => Err(format!("one step at a time, please:\n\n{USAGE}")),
    }
}

/// By number, name, or both as the folder has them.
fn find(word: &str) -> Result<usize, String> {
    let word = word.trim_end_matches('/');
    let is_meant = |step: &Step| {
        word == step.folder || word == step.name() || word.parse() == Ok(step.number())
    };
    STEPS.iter().position(is_meant).ok_or_else(|| {
        let names = STEPS.iter().map(|step| format!("  {:>2}  {}", step.number(), step.name()));
        let names = names.collect::<Vec<_>>().join("\n");
        format!("there is no step `{word}`; a step has a number or a name:\n\n{names}\n\n{USAGE}")
    })
}

fn list(out: &mut impl Write) -> io::Result<()> {
    writeln!(out, "How an async runtime works, in {} steps:\n", STEPS.len())?;
    let width = STEPS.iter().map(|step| step.name().len()).max().unwrap_or(0);
    for step in STEPS {
        writeln!(out, "  {:>2}  {:<width$}  {}", step.number(), step.name(), step.about)?;
    }
    writeln!(out, "\n{USAGE}\n")?;
    writeln!(out, "Each has a page: tour/NN-name/README.md, in Chinese README.zh-CN.md.")
}

fn run(step: &Step, out: &mut impl Write) -> io::Result<()> {
    writeln!(out, "Step {}: {}", step.number(), step.about)?;
    let timeline = Timeline::new();
    (step.run)(&timeline);
    writeln!(out, "{timeline}")?;
    writeln!(out, "Explained in tour/{}/README.md\n", step.folder)
}
