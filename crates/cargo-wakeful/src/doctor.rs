//! `cargo wakeful doctor`: what of a program would not move, and what the machine lacks.
//!
//! | file | checks |
//! |---|---|
//! | `program.rs` | the dependency graph, resolved on Tokio and on Wakeful |
//! | `sources.rs` | unstable and private items of Tokio that the crates name |
//! | `machine.rs` | the system, its calls and its limits |

use std::env;
use std::process::ExitCode;

use serde_json::{Value, json};

use crate::Stop;
use crate::drop_in::DropIn;
use crate::invocation::{self, Invocation, selection};
use crate::output::{print_line, print_note};
use crate::program::Program;
use crate::signals;

mod machine;
mod program;
mod sources;
#[cfg(test)]
mod tests;

pub use program::is_unstable;

/// How much a finding matters.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Level {
    Ok,
    Note,
    Problem,
}

impl Level {
    fn name(self) -> &'static str {
        match self {
            Level::Ok => "ok",
            Level::Note => "note",
            Level::Problem => "problem",
        }
    }
}

/// The result of a check.
#[derive(Debug, PartialEq)]
pub struct Finding {
    pub level: Level,
    /// What was checked, as a stable name for scripts.
    pub check: &'static str,
    pub message: String,
    /// What the user should do; empty if nothing.
    pub advice: String,
}

impl Finding {
    fn new(level: Level, check: &'static str, message: impl Into<String>) -> Finding {
        Finding { level, check, message: message.into(), advice: String::new() }
    }

    pub fn ok(check: &'static str, message: impl Into<String>) -> Finding {
        Finding::new(Level::Ok, check, message)
    }

    pub fn note(check: &'static str, message: impl Into<String>) -> Finding {
        Finding::new(Level::Note, check, message)
    }

    pub fn problem(check: &'static str, message: impl Into<String>) -> Finding {
        Finding::new(Level::Problem, check, message)
    }

    pub fn advice(self, advice: impl Into<String>) -> Finding {
        Finding { advice: advice.into(), ..self }
    }

    fn json(&self) -> Value {
        json!({
            "level": self.level.name(),
            "check": self.check,
            "message": self.message,
            "advice": self.advice,
        })
    }
}

/// The findings of a call.
struct Report {
    /// The folder of the program's workspace, if there is a program.
    workspace: Option<String>,
    program: Vec<Finding>,
    machine: Vec<Finding>,
}

/// Checks the program and the machine, and prints the findings.
pub fn run(options: &invocation::Doctor) -> Result<ExitCode, Stop> {
    signals::install_handlers();
    let drop_in = DropIn::find()?;
    let resolve_args = selection(options.manifest_path.as_ref(), options.is_offline);
    let call = Invocation { resolve_args, ..Invocation::default() };
    // Without a program, only the machine is checked. A program that was named must exist.
    let has_program = options.manifest_path.is_some() || is_in_program();
    let program = if has_program { Some(Program::find(&call.resolve_args)?) } else { None };
    let mut report = Report {
        workspace: program.as_ref().map(|found| found.workspace_root.display().to_string()),
        program: Vec::new(),
        machine: machine::check(&drop_in),
    };
    if let Some(program) = &program {
        report.program = program::check(program, &call, &drop_in)?;
    } else {
        print_note("no Cargo.toml in this folder or above it; only the machine is checked");
    }
    if options.prints_json {
        print_line(report.json(&drop_in));
    } else {
        print_line(report.text(&drop_in));
    }
    Ok(ExitCode::from(u8::from(report.problems() > 0)))
}

fn is_in_program() -> bool {
    let folder = env::current_dir().unwrap_or_default();
    folder.ancestors().any(|folder| folder.join("Cargo.toml").exists())
}

impl Report {
    fn all(&self) -> impl Iterator<Item = &Finding> {
        self.program.iter().chain(&self.machine)
    }

    fn count(&self, level: Level) -> usize {
        self.all().filter(|finding| finding.level == level).count()
    }

    fn problems(&self) -> usize {
        self.count(Level::Problem)
    }

    fn json(&self, drop_in: &DropIn) -> String {
        let list = |findings: &[Finding]| findings.iter().map(Finding::json).collect::<Vec<_>>();
        let report = json!({
            "wakeful": drop_in.wakeful_version.as_ref().map(ToString::to_string),
            "tokio": drop_in.version.to_string(),
            "workspace": self.workspace,
            "problems": self.problems(),
            "notes": self.count(Level::Note),
            "program": list(&self.program),
            "machine": list(&self.machine),
        });
        format!("{report:#}")
    }

    fn text(&self, drop_in: &DropIn) -> String {
        let mut lines = vec![drop_in.title()];
        if let Some(workspace) = &self.workspace {
            lines.push(format!("\nProgram: {workspace}"));
            lines.extend(self.program.iter().map(text_of));
        }
        lines.push("\nThis machine".to_owned());
        lines.extend(self.machine.iter().map(text_of));
        let problems = self.problems();
        lines.push(match (problems, &self.workspace) {
            (0, Some(_)) => "\nNo problem found. To be certain: `cargo wakeful test`.".to_owned(),
            (0, None) => "\nNo problem found.".to_owned(),
            (1, _) => "\n1 problem found.".to_owned(),
            _ => format!("\n{problems} problems found."),
        });
        lines.join("\n")
    }
}

fn text_of(finding: &Finding) -> String {
    const INDENT: &str = "\n           ";
    let message = finding.message.replace('\n', INDENT);
    let mut text = format!("  {:8} {message}", finding.level.name());
    if !finding.advice.is_empty() {
        text.push_str(INDENT);
        text.push_str(&finding.advice.replace('\n', INDENT));
    }
    text
}
