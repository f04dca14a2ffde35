//! `cargo xtask api-diff`: compares the public API of the drop-in with Tokio's.
//!
//! Rustdoc describes both as JSON. The drop-in re-exports items of our other crates, so these are
//! described too, and re-exports are followed. Each property of the API that users can rely on
//! becomes a fact: a name and a text. Tokio's facts that are missing or different in the drop-in
//! are listed.
//!
//! ```text
//! docs      runs rustdoc to describe the crates
//! crates    the descriptions, and references between them
//! public    all items with public paths
//! text      types and bounds as text, independent of the names of parameters
//! surface   the facts of every public item
//! fact      a fact, and when another fact satisfies it
//! ```

pub mod crates;
pub mod docs;
mod fact;
pub mod public;
mod surface;
mod text;

use crates::Crates;
use public::Public;
use surface::Surface;

use crate::conformance::suites::TOKIO;

/// The parsed command line.
struct Request<'a> {
    features: Vec<&'a str>,
    /// Whether to list differences in items hidden from the documentation, which are allowed.
    hidden: bool,
    /// Whether to list items that Tokio does not have, which are allowed.
    extra: bool,
}

/// Compares the API with the default options, as CI does.
pub fn run_all() -> Result<(), String> {
    run(&[])
}

/// Prints the differences, and fails if there are any.
pub fn run(args: &[&str]) -> Result<(), String> {
    let request = parse(args)?;
    let tokio = Crates::load(&docs::of_tokio(&request.features)?)?;
    let ours = Crates::load(&docs::of_drop_in(&request.features)?)?;
    let tokio_public = Public::of(&tokio, "tokio")?;
    let ours_public = Public::of(&ours, "tokio")?;
    let shared = tokio_public.paths();
    let tokio_surface = Surface::of(&tokio, &tokio_public, &shared);
    let ours_surface = Surface::of(&ours, &ours_public, &shared);
    let differences = tokio_surface.differences(&ours_surface);
    let (hidden, listed): (Vec<_>, Vec<_>) = differences.iter().partition(|found| found.hidden);
    for difference in &listed {
        println!("{}", difference.text);
    }
    if request.hidden {
        for difference in &hidden {
            println!("hidden, {}", difference.text);
        }
    }
    if request.extra {
        for about in ours_surface.extras(&tokio_surface) {
            println!("extra: {about}");
        }
    }
    println!(
        "api-diff: compared {} facts about Tokio's API; {} differ",
        tokio_surface.count(),
        listed.len()
    );
    if listed.is_empty() {
        return Ok(());
    }
    Err(format!("the API differs from Tokio's{}", tokio.format_note()))
}

fn parse<'a>(args: &[&'a str]) -> Result<Request<'a>, String> {
    let mut request = Request { features: TOKIO.features.to_vec(), hidden: false, extra: false };
    let mut args = args.iter().copied();
    while let Some(arg) = args.next() {
        match arg {
            "--hidden" => request.hidden = true,
            "--extra" => request.extra = true,
            "--features" => {
                let names =
                    args.next().ok_or("--features needs a comma-separated list of names")?;
                request.features = names.split(',').filter(|name| !name.is_empty()).collect();
            }
            _ => return Err(format!("`cargo xtask api-diff`: unknown option `{arg}`")),
        }
    }
    Ok(request)
}
