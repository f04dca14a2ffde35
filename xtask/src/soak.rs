//! `cargo xtask soak`: a mixed load for a while, on all flavours, whose totals must agree.

use std::time::Duration;

use crate::cargo::Cargo;
use crate::options::{Options, seconds};
use crate::repo;

const TIME: Duration = Duration::from_secs(20);

/// Runs the example `soak`.
pub fn run(options: &[&str]) -> Result<(), String> {
    let options = Options::parse(options, &["for", "seed", "workers"])?;
    let time = options.duration("for")?.unwrap_or(TIME);
    let mut args = vec!["--for".to_owned(), seconds(time)];
    args.extend(options.only(&["seed", "workers"]));
    let run = "run --release --quiet --package wakeful-torture --example soak --";
    Cargo::new(&repo::root(), run).args(&args).run()
}
