//! The command-line program: `cargo xtask fuzz`, or `cargo run --release` in this folder.

use std::process::ExitCode;

mod options;
mod session;

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    if args.iter().any(|arg| arg == "--help" || arg == "-h") {
        println!("{}", options::USAGE);
        return ExitCode::SUCCESS;
    }
    match options::Options::parse(&args) {
        Ok(options) => session::run(&options),
        Err(why) => {
            eprintln!("wakeful-fuzz: {why}");
            ExitCode::FAILURE
        }
    }
}
