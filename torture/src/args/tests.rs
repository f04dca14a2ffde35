use super::{Args, duration};
use std::time::Duration;

fn parse(line: &str) -> Result<Args, String> {
    let args: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
    Args::parse(&args, &["for", "seed"], &["quick"])
}

#[test]
fn options_switches_and_the_last_of_each() {
    let args = parse("--seed 0x2a --quick --for 3s --for 2m").unwrap();
    assert_eq!(args.number("seed"), Some(42));
    assert_eq!(args.duration("for"), Some(Duration::from_secs(120)));
    assert!(args.has("quick"));
    assert!(!parse("").unwrap().has("quick"));
}

#[test]
fn unknown_options_and_missing_values_are_errors() {
    assert_eq!(parse("--fro 3s").unwrap_err(), "`--fro` is not an option of this program");
    assert_eq!(parse("for").unwrap_err(), "`for` is not an option of this program");
    assert_eq!(parse("--for").unwrap_err(), "`--for` needs a value");
}

#[test]
fn durations() {
    assert_eq!(duration("200ms"), Some(Duration::from_millis(200)));
    assert_eq!(duration("1h"), Some(Duration::from_secs(3600)));
    for wrong in ["", "3", "s", "3 s", "3d", "99999999999999999999s", "9999999999999999999h"] {
        assert_eq!(duration(wrong), None, "{wrong}");
    }
}
