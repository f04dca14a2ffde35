use super::{Options, seconds};
use std::time::Duration;

const NAMES: &[&str] = &["for", "seed"];

#[test]
fn options_are_read_and_passed_on() {
    let options = Options::parse(&["--seed", "7", "--for", "2m"], NAMES).unwrap();
    assert_eq!(options.text("seed"), Some("7"));
    assert_eq!(options.duration("for"), Ok(Some(Duration::from_secs(120))));
    assert_eq!(options.duration("limit"), Ok(None));
    assert_eq!(options.only(&["seed"]), ["--seed", "7"]);
    assert_eq!(seconds(Duration::from_secs(2)), "2000ms");
}

#[test]
fn unknown_and_incomplete_options_are_refused() {
    let refused = |args: &[&str]| Options::parse(args, NAMES).err().unwrap();
    assert_eq!(refused(&["--sed", "7"]), "unknown option `--sed`; the options are --for, --seed");
    assert_eq!(refused(&["seed", "7"]), "unknown option `seed`; the options are --for, --seed");
    assert_eq!(refused(&["--seed"]), "`--seed` needs a value");
    for wrong in ["2", "m", "2d", "2 m", "99999999999s"] {
        let options = [wrong];
        let options = Options::parse(&["--for", options[0]], NAMES).unwrap();
        assert!(options.duration("for").is_err(), "{wrong}");
    }
}
