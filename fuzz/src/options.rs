//! The command-line options.

use std::time::Duration;

use wakeful_fuzz::families::{AnyFamily, FAMILIES};

pub const USAGE: &str = "\
usage: wakeful-fuzz [FAMILY...] [OPTIONS]

  FAMILY      fuzz these families of types (default: all); an unknown name lists them
  --rounds N  run N scripts of each family (default: 15000)
  --for TIME  run for TIME instead, such as 90s, 10m or 2h, which all families share
  --seed N    the seed of the first script of each family (default: 1)
  --ops N     up to N operations in a script (default: 120)
  --verbose   print the command that runs a script alone, before each script";

/// The default number of scripts of each family. They take some seconds.
const ROUNDS: u64 = 15_000;
/// The default maximum of operations in a script.
const OPS_MAX: usize = 120;
/// The default of the first seed. It is fixed, so that each run does the same.
const SEED: u64 = 1;

/// What to run.
pub struct Options {
    /// In the order of the command line.
    pub families: Vec<&'static AnyFamily>,
    /// When to stop.
    pub until: Until,
    /// The seed of the first script. Each further script has the next one.
    pub seed: u64,
    /// The maximum of operations in a script.
    pub ops_max: usize,
    /// Whether each script is printed before it runs, to find the one that ends the process.
    pub is_verbose: bool,
}

/// When to stop.
#[derive(Clone, Copy)]
pub enum Until {
    /// After this many scripts of each family.
    Rounds(u64),
    /// After this time, which all families share.
    Over(Duration),
}

impl Options {
    /// Parses the arguments.
    pub fn parse(args: &[String]) -> Result<Options, String> {
        let mut options = Options {
            families: Vec::new(),
            until: Until::Rounds(ROUNDS),
            seed: SEED,
            ops_max: OPS_MAX,
            is_verbose: false,
        };
        let mut args = args.iter();
        while let Some(arg) = args.next() {
            let mut value = || args.next().ok_or_else(|| format!("`{arg}` needs a value"));
            match arg.as_str() {
                "--rounds" => options.until = Until::Rounds(number(value()?)?),
                "--for" => options.until = Until::Over(duration(value()?)?),
                "--seed" => options.seed = number(value()?)?,
                "--ops" => options.ops_max = number(value()?)?.max(1) as usize,
                "--verbose" => options.is_verbose = true,
                name => options.families.push(family(name)?),
            }
        }
        if options.families.is_empty() {
            options.families = FAMILIES.iter().collect();
        }
        Ok(options)
    }
}

fn family(name: &str) -> Result<&'static AnyFamily, String> {
    FAMILIES.iter().find(|family| family.name == name).ok_or_else(|| {
        let names: Vec<_> = FAMILIES.iter().map(|family| family.name).collect();
        format!(
            "`{name}` is neither an option (see `--help`) nor a family; the families are: {}",
            names.join(", ")
        )
    })
}

fn number(text: &str) -> Result<u64, String> {
    text.parse().map_err(|_| format!("`{text}` is not a number or time"))
}

/// Parses `90`, `90s`, `10m` or `2h`.
fn duration(text: &str) -> Result<Duration, String> {
    let (digits, seconds) = match text.as_bytes().last() {
        Some(b's') => (&text[..text.len() - 1], 1),
        Some(b'm') => (&text[..text.len() - 1], 60),
        Some(b'h') => (&text[..text.len() - 1], 3600),
        _ => (text, 1),
    };
    Ok(Duration::from_secs(number(digits)? * seconds))
}
