//! Measures Wakeful side by side with Tokio and other runtimes. `README.md` says how to run, read
//! and extend the benchmarks.

mod cases;
mod child;
mod cli;
mod common;
mod contenders;
mod cpu_group;
mod disturbance;
mod goals;
mod hello;
mod json;
mod keep;
mod load;
mod machine;
mod markdown;
mod measure;
mod os;
mod picture;
mod placement;
mod primitives;
mod progress;
mod report;
mod results;
mod rounds;
mod runtime;
mod suite;
mod workers;
mod wrk;

use cli::{Invocation, RunOptions};
use machine::Machine;
use measure::Scale;
use os::CpuTicks;
use placement::Placement;
use progress::Progress;
use report::Report;
use std::fs::File;
use std::process::ExitCode;
use std::time::Instant;
use suite::Suite;

fn main() -> ExitCode {
    let suite = contenders::suite();
    let outcome = match cli::parse(std::env::args_os().skip(1)) {
        Ok(Invocation::Help) => {
            println!("{}", cli::USAGE);
            Ok(ExitCode::SUCCESS)
        }
        Ok(Invocation::List) => {
            list(&suite);
            Ok(ExitCode::SUCCESS)
        }
        Ok(Invocation::Sample { contender, case, scale, workers }) => {
            workers::set(workers);
            Ok(child::serve_sample(&suite, &contender, &case, scale))
        }
        Ok(Invocation::Load { load }) => child::serve_load(&load),
        Ok(Invocation::Disturb { disturbance }) => disturbance::serve(&disturbance),
        Ok(Invocation::Run(options)) => run(&suite, &options),
        Err(e) => Err(format!("{e}\n\n{}", cli::USAGE)),
    };
    outcome.unwrap_or_else(|why| {
        eprintln!("{why}");
        ExitCode::from(2)
    })
}

fn list(suite: &Suite) {
    for case in suite.catalogue() {
        println!("{:<24} {}", case.name, case.about);
    }
    println!();
    for contender in &suite.contenders {
        println!("{:<24} {}", contender.name, contender.packages.join(", "));
    }
}

/// Runs the selected cases and prints the results. Returns an error only for an invalid command
/// line or an output file that cannot be written. Failures of contenders are listed, and set the
/// exit code.
fn run(suite: &Suite, options: &RunOptions) -> Result<ExitCode, String> {
    let cases = options.cases(suite)?;
    let contenders = options.contenders(suite)?;
    // Opened first, to fail now rather than after minutes of measuring.
    let json_file = match &options.json {
        Some(path) => Some(File::create(path).map_err(|e| format!("{}: {e}", path.display()))?),
        None => None,
    };
    let begun = Instant::now();
    let ticks_begun = CpuTicks::now();
    let machine = Machine::look(&contenders, options.workers);
    println!("{machine}\n\n{}", markdown::LEGEND);

    let mut placement = Placement::look_around();
    let mut progress = Progress::new(cases.len());
    let (mut rows, mut failures, mut notes) = (Vec::new(), Vec::new(), Vec::new());
    for group in cases.chunk_by(|a, b| a.group() == b.group()) {
        for case in group {
            let mut outcome =
                rounds::run_case(case, &contenders, options, &mut placement, &mut progress);
            rows.append(&mut outcome.rows);
            failures.append(&mut outcome.failures);
            notes.append(&mut outcome.notes);
        }
        println!("{}", markdown::table(group, &rows, &contenders));
    }
    let now = CpuTicks::now();
    let report = Report {
        machine,
        contenders,
        quick: options.scale == Scale::Quick,
        rounds: options.rounds,
        cases,
        rows,
        failures,
        notes,
        took: begun.elapsed(),
        placement,
        cpu_loss: ticks_begun.zip(now).map(|(earlier, now)| now.loss_since(earlier)),
    };
    println!("{}", markdown::summary(&report));
    if let Some(file) = json_file {
        json::write(&report, file).map_err(|e| format!("cannot write the JSON file: {e}"))?;
    }
    if options.write {
        keep::write(&report).map_err(|e| format!("cannot write RESULTS.md or results.svg: {e}"))?;
    }
    Ok(if report.failures.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
