//! What the command line asks for.

/// What `--help` prints.
pub const USAGE: &str = "\
A small service on Wakeful, on loopback, and a page that shows the runtime at work.

usage: demo [--port N] [--no-handoff] [--check]      (cargo run --release -- --port N)

  --port N       serve on port N of 127.0.0.1; 0 takes any free one.
                 If not given: 8080, or the next one that is free
  --no-handoff   let what waits behind a task that blocks its worker wait: to see what one is spared
  --check        drive the service for some seconds without a browser, say what was checked, and end
  --help         print this";

/// What to do.
#[derive(Debug, PartialEq, Eq)]
pub enum Wish {
    /// Serve until Ctrl-C; on this port, if one is named.
    Serve(Option<u16>, Handoff),
    Check(Handoff),
    Help,
}

/// What becomes of a worker that a task blocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Handoff {
    /// Another thread takes it over, as Wakeful does unless told otherwise.
    On,
    /// It stands still.
    Off,
}

/// Reads the arguments; an error says what is wrong with them.
pub fn parse(arguments: impl IntoIterator<Item = String>) -> Result<Wish, String> {
    let mut arguments = arguments.into_iter();
    let (mut port, mut check, mut handoff) = (None, false, Handoff::On);
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--help" | "-h" => return Ok(Wish::Help),
            "--check" => check = true,
            "--no-handoff" => handoff = Handoff::Off,
            "--port" => {
                let value = arguments.next().ok_or("--port needs a number behind it")?;
                port = Some(port_number(&value)?);
            }
            other => match other.strip_prefix("--port=") {
                Some(value) => port = Some(port_number(value)?),
                None => return Err(format!("{other} is not an option")),
            },
        }
    }
    match (check, port) {
        (true, Some(_)) => Err("--check takes a free port by itself; leave out --port".to_owned()),
        (true, None) => Ok(Wish::Check(handoff)),
        (false, port) => Ok(Wish::Serve(port, handoff)),
    }
}

fn port_number(value: &str) -> Result<u16, String> {
    value.parse().map_err(|_| format!("--port needs a number from 0 to 65535, not {value}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(line: &str) -> Result<Wish, String> {
        parse(line.split_whitespace().map(str::to_owned))
    }

    #[test]
    fn without_arguments_it_serves_where_there_is_room() {
        assert_eq!(parsed(""), Ok(Wish::Serve(None, Handoff::On)));
    }

    #[test]
    fn a_port_may_be_named_in_either_way() {
        assert_eq!(parsed("--port 9000"), Ok(Wish::Serve(Some(9000), Handoff::On)));
        assert_eq!(parsed("--port=0"), Ok(Wish::Serve(Some(0), Handoff::On)));
    }

    #[test]
    fn the_handoff_may_be_off_in_a_check_too() {
        assert_eq!(parsed("--check"), Ok(Wish::Check(Handoff::On)));
        assert_eq!(parsed("--no-handoff --check"), Ok(Wish::Check(Handoff::Off)));
        assert_eq!(parsed("--port 1 --no-handoff"), Ok(Wish::Serve(Some(1), Handoff::Off)));
    }

    #[test]
    fn help_goes_before_all_else() {
        assert_eq!(parsed("--check --help --port"), Ok(Wish::Help));
        assert_eq!(parsed("-h"), Ok(Wish::Help));
    }

    #[test]
    fn what_is_wrong_is_named() {
        assert!(parsed("--port").unwrap_err().contains("--port needs a number"));
        assert!(parsed("--port 70000").unwrap_err().contains("70000"));
        assert!(parsed("--port=x").unwrap_err().contains("not x"));
        assert!(parsed("--chekc").unwrap_err().contains("--chekc is not an option"));
        assert!(parsed("--check --port 1").unwrap_err().contains("leave out --port"));
    }
}
