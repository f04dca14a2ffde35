//! `cargo xtask api-diff`: Tokio's public API beside the drop-in's.
//!
//! Both are described by rustdoc, as JSON. The drop-in only names what lies in our other crates, so
//! these are described too and the names followed. What a user of the crate can rely on becomes a
//! fact of a name and a text; the facts of Tokio that are missing or read otherwise are listed.
//!
//! ```text
//! docs      has rustdoc describe the crates
//! crates    the descriptions, and how they refer to each other
//! public    everything that has a public path, and under which
//! text      types and bounds, written the same whatever the source calls its parameters
//! surface   the facts of every public item
//! fact      one of them, and what will do in its place
//! ```

mod crates;
mod docs;
mod fact;
mod public;
mod surface;
mod text;

use crates::Crates;
use public::Public;
use surface::Surface;

/// Prints the differences; there must be none.
///
/// `--hidden` also prints what differs and is hidden from the documentation, and `--extra` what is
/// here and not in Tokio. Neither counts.
pub fn run(options: &[&str]) -> Result<(), String> {
    if let Some(unknown) = options.iter().find(|option| !["--hidden", "--extra"].contains(option)) {
        return Err(format!("`cargo xtask api-diff` does not know `{unknown}`"));
    }
    let tokio = Crates::load(&docs::of_tokio()?)?;
    let ours = Crates::load(&docs::of_drop_in()?)?;
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
    if options.contains(&"--hidden") {
        for difference in &hidden {
            println!("hidden, {}", difference.text);
        }
    }
    if options.contains(&"--extra") {
        for about in ours_surface.extras(&tokio_surface) {
            println!("extra: {about}");
        }
    }
    println!(
        "api-diff: {} facts about Tokio's API, {} of them not so here",
        tokio_surface.count(),
        listed.len()
    );
    if listed.is_empty() { Ok(()) } else { Err("the API differs from Tokio's".to_owned()) }
}
