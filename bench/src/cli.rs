//! The command line.

use crate::child::{LOAD_COMMAND, SAMPLE_COMMAND};
use crate::disturbance::DISTURB_COMMAND;
use crate::measure::Scale;
use crate::suite::{Case, Contender, Suite};
use crate::workers;
use lexopt::prelude::*;
use std::ffi::OsString;
use std::num::NonZeroUsize;
use std::path::PathBuf;

pub const USAGE: &str = "\
usage: wakeful-bench all|GROUP|CASE... [OPTIONS]
       wakeful-bench list

  --quick               one round with fewer operations: a test that all works, not for figures
  --only NAME,NAME...   measure only these contenders; ratios need Tokio's
  --rounds N            run N rounds of every case, however long they take
  --workers N           give multi-thread contenders N workers instead of 2
  --json FILE           also write every sample to FILE
  --write               also write RESULTS.md and results.svg to the folder bench";

pub enum Invocation {
    Help,
    List,
    Run(RunOptions),
    Sample { contender: String, case: String, scale: Scale, workers: usize },
    Load { load: String },
    Disturb { disturbance: String },
}

#[derive(Debug, PartialEq)]
pub struct RunOptions {
    /// Names of cases or groups, or `all`.
    pub selected: Vec<String>,
    pub scale: Scale,
    pub only: Option<Vec<String>>,
    pub rounds: Option<usize>,
    /// The number of workers of multi-thread contenders.
    pub workers: usize,
    pub json: Option<PathBuf>,
    pub write: bool,
}

pub fn parse(arguments: impl IntoIterator<Item = OsString>) -> Result<Invocation, lexopt::Error> {
    let mut options = RunOptions {
        selected: Vec::new(),
        scale: Scale::Full,
        only: None,
        rounds: None,
        workers: workers::DEFAULT,
        json: None,
        write: false,
    };
    let mut parser = lexopt::Parser::from_args(arguments);
    while let Some(argument) = parser.next()? {
        match argument {
            Short('h') | Long("help") => return Ok(Invocation::Help),
            Long("quick") => options.scale = Scale::Quick,
            Long("only") => {
                let names = parser.value()?.string()?;
                options.only = Some(names.split(',').map(String::from).collect());
            }
            Long("rounds") => {
                options.rounds = Some(parser.value()?.parse::<NonZeroUsize>()?.get());
            }
            Long("workers") => options.workers = parser.value()?.parse::<NonZeroUsize>()?.get(),
            Long("write") => options.write = true,
            Long("json") => options.json = Some(parser.value()?.into()),
            Value(name) => options.selected.push(name.string()?),
            other => return Err(other.unexpected()),
        }
    }
    let names: Vec<&str> = options.selected.iter().map(String::as_str).collect();
    match names[..] {
        [] => {
            Err("no cases given: name `all`, groups or cases to run, or use `list` to see them"
                .into())
        }
        ["list"] => Ok(Invocation::List),
        [SAMPLE_COMMAND, contender, case] => Ok(Invocation::Sample {
            contender: contender.into(),
            case: case.into(),
            scale: options.scale,
            workers: options.workers,
        }),
        [LOAD_COMMAND, load] => Ok(Invocation::Load { load: load.into() }),
        [DISTURB_COMMAND, disturbance] => {
            Ok(Invocation::Disturb { disturbance: disturbance.into() })
        }
        _ => Ok(Invocation::Run(options)),
    }
}

impl RunOptions {
    /// Returns the selected cases, in the suite's order.
    pub fn cases<'a>(&self, suite: &'a Suite) -> Result<Vec<&'a Case>, String> {
        let asks_for =
            |name: &str, case: &Case| name == "all" || name == case.group() || name == case.name;
        let catalogue = suite.catalogue();
        for name in &self.selected {
            if !catalogue.iter().any(|case| asks_for(name, case)) {
                return Err(format!("`{name}` is not a case or group; `list` prints them"));
            }
        }
        let wanted = |case: &&Case| self.selected.iter().any(|name| asks_for(name, case));
        Ok(catalogue.into_iter().filter(wanted).collect())
    }

    /// Returns the selected contenders, in the suite's order.
    pub fn contenders<'a>(&self, suite: &'a Suite) -> Result<Vec<&'a Contender>, String> {
        let Some(only) = &self.only else {
            return Ok(suite.contenders.iter().filter(|one| !one.by_name_only).collect());
        };
        for name in only {
            if suite.contender(name).is_none() {
                return Err(format!("`{name}` is not a contender; `list` prints them"));
            }
        }
        let wanted = |contender: &&Contender| only.iter().any(|name| name == contender.name);
        Ok(suite.contenders.iter().filter(wanted).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run_options(line: &str) -> RunOptions {
        match parse(line.split_whitespace().map(OsString::from)) {
            Ok(Invocation::Run(options)) => options,
            Ok(_) => panic!("`{line}` should run cases"),
            Err(e) => panic!("`{line}`: {e}"),
        }
    }

    fn suite() -> Suite {
        let case = |name| Case::new(name, "", |_| Vec::new());
        Suite {
            contenders: vec![
                Contender::new("a", &[]).with([case("x/1"), case("x/2"), case("y/1")]),
                Contender::new("b", &[]).with([case("x/1")]),
            ],
        }
    }

    #[test]
    fn options_may_come_anywhere() {
        let options =
            run_options("x --only a,b y/1 --quick --rounds=3 --workers 4 --json out.json --write");
        assert_eq!(
            options,
            RunOptions {
                selected: vec!["x".into(), "y/1".into()],
                scale: Scale::Quick,
                only: Some(vec!["a".into(), "b".into()]),
                rounds: Some(3),
                workers: 4,
                json: Some("out.json".into()),
                write: true,
            }
        );
    }

    #[test]
    fn invalid_command_lines_are_errors() {
        let lines = [
            "",
            "all --rounds 0",
            "all --rounds many",
            "all --workers 0",
            "all --fast",
            "all --only",
        ];
        for line in lines {
            let parsed = parse(line.split_whitespace().map(OsString::from));
            assert!(parsed.is_err(), "`{line}` was accepted");
        }
    }

    #[test]
    fn groups_and_cases_select() {
        let suite = suite();
        let selected = |line: &str| -> Result<Vec<&str>, String> {
            let cases = run_options(line).cases(&suite)?;
            Ok(cases.iter().map(|case| case.name).collect())
        };
        assert_eq!(selected("all").unwrap(), ["x/1", "x/2", "y/1"]);
        assert_eq!(selected("y x/2").unwrap(), ["x/2", "y/1"]);
        assert!(selected("x/1 z").unwrap_err().contains("`z`"));
    }

    #[test]
    fn unknown_contenders_are_errors() {
        let suite = suite();
        let contenders = run_options("all --only b").contenders(&suite).unwrap();
        assert_eq!(contenders.len(), 1);
        assert!(run_options("all --only b,c").contenders(&suite).is_err());
    }
}
