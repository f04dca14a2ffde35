//! What the command line says.

use std::time::Duration;

use wakeful_fuzz::families::{AnyFamily, FAMILIES};

/// How many scripts of each family there are, if not said: some seconds' worth.
const ROUNDS: u64 = 15_000;
/// The number of operations a script has at most, if not said.
const OPS_MAX: usize = 120;
/// The first seed, if not said: fixed, so that two runs do the same.
const SEED: u64 = 1;

/// What to run.
pub struct Options {
    /// In the order of the list.
    pub families: Vec<&'static AnyFamily>,
    /// When to stop.
    pub until: Until,
    /// The seed of the first round; each further round has the next one.
    pub seed: u64,
    /// How many operations a script has at most.
    pub ops_max: usize,
    /// Whether each script is named before it runs, which shows the one that ends the process.
    pub is_verbose: bool,
}

/// When to stop.
#[derive(Clone, Copy)]
pub enum Until {
    /// After so many scripts of each family.
    Rounds(u64),
    /// When the time is over, which all families share.
    Over(Duration),
}

impl Options {
    /// Reads the arguments.
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
            "`{name}` is neither an option (--rounds N, --for 10m, --seed S, --ops N, --verbose) nor a \
             family; these are: {}",
            names.join(", ")
        )
    })
}

fn number(text: &str) -> Result<u64, String> {
    text.parse().map_err(|_| format!("`{text}` is not a number"))
}

/// Reads `90`, `90s`, `10m` or `2h`.
fn duration(text: &str) -> Result<Duration, String> {
    let (digits, seconds) = match text.as_bytes().last() {
        Some(b's') => (&text[..text.len() - 1], 1),
        Some(b'm') => (&text[..text.len() - 1], 60),
        Some(b'h') => (&text[..text.len() - 1], 3600),
        _ => (text, 1),
    };
    Ok(Duration::from_secs(number(digits)? * seconds))
}
