//! The command-line arguments.

/// The text that `--help` prints.
pub const USAGE: &str = "\
Serves a page on loopback that shows a Wakeful runtime at work, with a small service to load it.

usage: demo [--port N] [--no-handoff] [--check]      (cargo run --release -- --port N)

  --port N       serve on port N of 127.0.0.1, or on any free port if N is 0
                 (default: 8080, or the next free port)
  --no-handoff   disable the hand-off: tasks queued behind a blocking task wait, for comparison
  --check        test the service for some seconds without a browser, print what passed, and exit
  --help         print this text";

/// What the command line asks for.
#[derive(Debug, PartialEq, Eq)]
pub enum Invocation {
    /// Serve until Ctrl-C, on this port if there is one.
    Serve(Option<u16>, Handoff),
    Check(Handoff),
    Help,
}

/// Whether the hand-off is enabled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Handoff {
    /// When a task blocks its worker, another thread takes over the worker. This is Wakeful's
    /// default.
    On,
    /// A blocked worker stays blocked.
    Off,
}

/// Parses the arguments.
///
/// # Errors
/// Returns a message that says what is wrong with them.
pub fn parse(arguments: impl IntoIterator<Item = String>) -> Result<Invocation, String> {
    let mut arguments = arguments.into_iter();
    let (mut port, mut check, mut handoff) = (None, false, Handoff::On);
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--help" | "-h" => return Ok(Invocation::Help),
            "--check" => check = true,
            "--no-handoff" => handoff = Handoff::Off,
            "--port" => {
                let value = arguments.next().ok_or("--port needs a number after it")?;
                port = Some(port_number(&value)?);
            }
            other => match other.strip_prefix("--port=") {
                Some(value) => port = Some(port_number(value)?),
                None => return Err(format!("{other} is not an option")),
            },
        }
    }
    match (check, port) {
        (true, Some(_)) => Err("--check always uses a free port; leave out --port".to_owned()),
        (true, None) => Ok(Invocation::Check(handoff)),
        (false, port) => Ok(Invocation::Serve(port, handoff)),
    }
}

fn port_number(value: &str) -> Result<u16, String> {
    value.parse().map_err(|_| format!("--port needs a number from 0 to 65535, not {value}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(line: &str) -> Result<Invocation, String> {
        parse(line.split_whitespace().map(str::to_owned))
    }

    #[test]
    fn without_arguments_it_serves_on_a_free_port() {
        assert_eq!(parsed(""), Ok(Invocation::Serve(None, Handoff::On)));
    }

    #[test]
    fn a_port_may_be_given_in_both_forms() {
        assert_eq!(parsed("--port 9000"), Ok(Invocation::Serve(Some(9000), Handoff::On)));
        assert_eq!(parsed("--port=0"), Ok(Invocation::Serve(Some(0), Handoff::On)));
    }

    #[test]
    fn a_check_may_run_without_handoff() {
        assert_eq!(parsed("--check"), Ok(Invocation::Check(Handoff::On)));
        assert_eq!(parsed("--no-handoff --check"), Ok(Invocation::Check(Handoff::Off)));
        assert_eq!(parsed("--port 1 --no-handoff"), Ok(Invocation::Serve(Some(1), Handoff::Off)));
    }

    #[test]
    fn help_takes_precedence() {
        assert_eq!(parsed("--check --help --port"), Ok(Invocation::Help));
        assert_eq!(parsed("-h"), Ok(Invocation::Help));
    }

    #[test]
    fn errors_name_what_is_wrong() {
        assert!(parsed("--port").unwrap_err().contains("--port needs a number"));
        assert!(parsed("--port 70000").unwrap_err().contains("70000"));
        assert!(parsed("--port=x").unwrap_err().contains("not x"));
        assert!(parsed("--chekc").unwrap_err().contains("--chekc is not an option"));
        assert!(parsed("--check --port 1").unwrap_err().contains("leave out --port"));
    }
}
