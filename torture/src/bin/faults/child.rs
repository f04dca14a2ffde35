//! The child process of a case.
//!
//! It reports each step to its parent with a line on standard output, so that the parent knows
//! which step hangs.

use crate::cases::{Case, When};
use crate::fault::Fault;
use crate::report::{Event, Phase};
use crate::workload::{Background, OPERATIONS, Outcome, Site, outcome_of};
use crate::{clock, fork};
use std::env;
use std::io::{self, Write};
use std::os::unix::fs::PermissionsExt;
use std::time::{Duration, Instant};

/// How long the runtime runs under a fault that comes and goes.
const UNDER_FAULT: Duration = Duration::from_millis(1500);

/// How long the shutdown of an idle runtime may take.
const SHUTDOWN_LIMIT: Duration = Duration::from_secs(3);

/// Runs a case.
///
/// # Errors
/// Returns an error if the test itself fails.
pub fn run(case: &Case) -> io::Result<()> {
    let folder = env::temp_dir().join(format!("wakeful-faults-{}", std::process::id()));
    std::fs::create_dir(&folder)?;
    // The fault may switch to another user, which must be able to write there.
    std::fs::set_permissions(&folder, PermissionsExt::from_mode(0o777))?;
    report(&Event::Folder(folder.display().to_string()))?;

    let from_start =
        if case.when == When::Start { Some(case.fault.begin(case.number)?) } else { None };
    let Some(runtime) = build(case)? else { return report(&Event::Done) };
    let background = Background::start(&runtime);
    let site = Site { runtime: &runtime, folder };
    let active_fault = match from_start {
        Some(active_fault) => active_fault,
        None => {
            run_operations(case, Phase::Before, &site, &background)?;
            case.fault.begin(case.number)?
        }
    };
    under_fault(case, &site, &background)?;
    if active_fault.end()? {
        run_operations(case, Phase::After, &site, &background)?;
    }
    shut_down(runtime)
}

fn build(case: &Case) -> io::Result<Option<wakeful::runtime::Runtime>> {
    let mut runtime = None;
    let built = outcome_of(|| {
        runtime = Some(case.flavour.build().map_err(|error| error.to_string())?);
        Ok(())
    });
    report(&Event::Outcome(Phase::During, "build".to_owned(), built))?;
    Ok(runtime)
}

fn under_fault(case: &Case, site: &Site<'_>, background: &Background) -> io::Result<()> {
    match case.fault {
        Fault::Fork => {
            report(&Event::Begun("fork".to_owned()))?;
            let outcome = outcome_of(|| fork::with_a_runtime_in_the_child(case.flavour));
            report(&Event::Outcome(Phase::During, "fork".to_owned(), outcome))?;
        }
        Fault::Clock => clock::begin_to_step()?,
        Fault::Stops => {
            report(&Event::StopsWanted(true))?;
            let begun = Instant::now();
            while begun.elapsed() < UNDER_FAULT {
                run_operations(case, Phase::During, site, background)?;
            }
            return report(&Event::StopsWanted(false));
        }
        _ => {}
    }
    run_operations(case, Phase::During, site, background)
}

fn run_operations(
    case: &Case,
    phase: Phase,
    site: &Site<'_>,
    background: &Background,
) -> io::Result<()> {
    for operation in OPERATIONS.iter().filter(|operation| operation.is_for(case.flavour)) {
        report(&Event::Begun(operation.name.to_owned()))?;
        let outcome = operation.run(site);
        report(&Event::Outcome(phase, operation.name.to_owned(), outcome))?;
    }
    report(&Event::Begun("background".to_owned()))?;
    let outcome = outcome_of(|| background.check(site.runtime));
    report(&Event::Outcome(phase, "background".to_owned(), outcome))
}

fn shut_down(runtime: wakeful::runtime::Runtime) -> io::Result<()> {
    report(&Event::Begun("shutdown".to_owned()))?;
    let metrics = runtime.metrics();
    let begun = Instant::now();
    let mut outcome = outcome_of(|| {
        drop(runtime);
        Ok(())
    });
    let took = begun.elapsed();
    if outcome == Outcome::Works && took > SHUTDOWN_LIMIT {
        outcome = Outcome::Error(format!("the shutdown took {took:?}"));
    }
    report(&Event::Outcome(Phase::During, "shutdown".to_owned(), outcome))?;
    report(&Event::HandOffs(metrics.stall_handoff_count()))?;
    report(&Event::Done)
}

fn report(event: &Event) -> io::Result<()> {
    // One write, without the buffer of `Stdout`: the process may end at any moment.
    io::stdout().lock().write_all(format!("{event}\n").as_bytes())
}
