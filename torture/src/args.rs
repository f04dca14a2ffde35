//! Command-line options of the form `--name value` and `--switch`.

use std::process::exit;
use std::time::Duration;

#[cfg(test)]
mod tests;

/// The command-line options of a program.
#[derive(Debug)]
pub struct Args {
    given: Vec<(String, String)>,
}

impl Args {
    /// Parses the process's arguments. `options` lists the options that take a value, `switches`
    /// those that take none, both without their dashes. Prints `usage` and exits on `--help`, and
    /// prints an error with `usage` and exits on any other argument.
    pub fn from_env(usage: &str, options: &[&str], switches: &[&str]) -> Args {
        let args: Vec<String> = std::env::args().skip(1).collect();
        if args.iter().any(|arg| arg == "--help" || arg == "-h") {
            println!("{usage}");
            exit(0);
        }
        Args::parse(&args, options, switches).unwrap_or_else(|why| stop(&why, usage))
    }

    fn parse(args: &[String], options: &[&str], switches: &[&str]) -> Result<Args, String> {
        let mut given = Vec::new();
        let mut args = args.iter();
        while let Some(arg) = args.next() {
            let name = arg.strip_prefix("--").unwrap_or_default();
            if switches.contains(&name) {
                given.push((name.to_owned(), String::new()));
            } else if options.contains(&name) {
                let value = args.next().ok_or_else(|| format!("`{arg}` needs a value"))?;
                given.push((name.to_owned(), value.clone()));
            } else {
                return Err(format!("`{arg}` is not an option of this program"));
            }
        }
        Ok(Args { given })
    }

    /// Returns the value of an option: the last one if it was given more than once.
    pub fn text(&self, name: &str) -> Option<&str> {
        self.given.iter().rev().find(|(given, _)| given == name).map(|(_, value)| value.as_str())
    }

    /// Returns whether a switch was given.
    pub fn has(&self, name: &str) -> bool {
        self.text(name).is_some()
    }

    /// Returns the value of an option as a number: decimal, or hexadecimal with `0x` in front, as
    /// the programs print seeds.
    pub fn number(&self, name: &str) -> Option<u64> {
        self.parsed(name, "a number, such as 7 or 0x2a", |text| match text.strip_prefix("0x") {
            Some(digits) => u64::from_str_radix(digits, 16).ok(),
            None => text.parse().ok(),
        })
    }

    /// Returns the value of an option as a duration: `200ms`, `30s`, `2m`, `1h`.
    pub fn duration(&self, name: &str) -> Option<Duration> {
        self.parsed(name, "a duration, such as 200ms, 30s, 2m or 1h", duration)
    }

    fn parsed<T>(&self, name: &str, wanted: &str, f: impl Fn(&str) -> Option<T>) -> Option<T> {
        let text = self.text(name)?;
        Some(f(text).unwrap_or_else(|| stop(&format!("`--{name} {text}`: expected {wanted}"), "")))
    }
}

/// Parses `200ms`, `30s`, `2m` or `1h`.
pub fn duration(text: &str) -> Option<Duration> {
    let unit_at = text.find(|c: char| !c.is_ascii_digit())?;
    let (number, unit) = text.split_at(unit_at);
    let number: u64 = number.parse().ok()?;
    let millis = match unit {
        "ms" => 1,
        "s" => 1_000,
        "m" => 60_000,
        "h" => 3_600_000,
        _ => return None,
    };
    number.checked_mul(millis).map(Duration::from_millis)
}

fn stop(why: &str, usage: &str) -> ! {
    eprintln!("{why}\n{usage}");
    exit(2)
}
