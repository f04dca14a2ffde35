//! `cargo xtask dumps`: requests to a server that prints dumps, none of which may fail.

use std::time::Duration;

use crate::cargo::Cargo;
use crate::options::{Options, seconds};
use crate::repo;

const TIME: Duration = Duration::from_secs(5);

/// Runs the example `dumps`.
pub fn run(options: &[&str]) -> Result<(), String> {
    let given = ["every", "connections", "pause", "idle", "stacks"];
    let options = Options::parse(options, &[&["for"], &given[..]].concat())?;
    let time = options.duration("for")?.unwrap_or(TIME);
    let mut args = vec!["--for".to_owned(), seconds(time)];
    args.extend(options.only(&given));
    let run = "run --release --quiet --package wakeful-torture --example dumps --";
    Cargo::new(&repo::root(), run).args(&args).run()
}
