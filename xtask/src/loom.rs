//! `cargo xtask loom`: model-checks the crates that have loom models.
//!
//! A model is a unit test in a module called `loom` that is compiled only with `cfg(all(test,
//! wakeful_loom))`; by convention it is in `foo/tests/loom.rs` for `foo.rs`. Loom's types panic
//! outside a model, so with this `cfg` only models may run.

use std::env;
use std::time::Instant;

use crate::cargo::{self, Cargo};
use crate::repo::{self, Files, Package};
use crate::rust::modules;

#[cfg(test)]
mod tests;

/// The maximum number of preemptions in a model. It is high enough to find nearly all bugs that
/// loom can find, and low enough for the models to finish. `LOOM_MAX_PREEMPTIONS` overrides it.
const MAX_PREEMPTIONS: &str = "3";

/// Runs the models of `krate` or of every crate. With `filter`, runs only those whose names contain
/// it.
pub fn run(krate: Option<&str>, filter: Option<&str>) -> Result<(), String> {
    let files = repo::load(&repo::root())?;
    let with_models = crates_with_models(&files)?;
    let chosen: Vec<&str> = match krate {
        None => with_models.iter().map(String::as_str).collect(),
        Some(krate) => vec![choose(krate, &with_models)?],
    };
    if chosen.is_empty() {
        println!("    no crate has loom models yet");
    }
    for krate in chosen {
        check(krate, filter)?;
    }
    Ok(())
}

fn check(krate: &str, filter: Option<&str>) -> Result<(), String> {
    let listing = test_command(krate).args(&words("-- --list --format terse")).output()?;
    let models = models_in(&listing, filter);
    if models.is_empty() {
        let wanted = filter.map_or(String::new(), |filter| format!(" with `{filter}` in its name"));
        return Err(format!("{krate} has no loom model{wanted}; its tests are:\n{listing}"));
    }
    let start = Instant::now();
    test_command(krate).args(&words("-- --exact")).args(&models).run()?;
    println!("    {krate}: {} models in {:.1} s", models.len(), start.elapsed().as_secs_f64());
    Ok(())
}

/// Returns the call of `cargo test`: in release mode since models are slow, but with debug
/// assertions, so that models check them.
fn test_command(krate: &str) -> Cargo {
    let root = repo::root();
    let given = env::var("RUSTFLAGS").unwrap_or_default();
    let flags = format!("{given} --cfg wakeful_loom -C debug-assertions");
    let preemptions = env::var("LOOM_MAX_PREEMPTIONS").unwrap_or(MAX_PREEMPTIONS.to_owned());
    // A separate folder: otherwise the `cfg` would rebuild all crates twice in each CI run.
    let target_dir = cargo::target_dir(&root).join("loom");
    let features = if krate == "wakeful-base" { "loom" } else { "wakeful-base/loom" };
    Cargo::new(&root, &format!("test --release --lib --package {krate} --features {features}"))
        .env("RUSTFLAGS", flags.trim())
        .env("LOOM_MAX_PREEMPTIONS", &preemptions)
        .env("CARGO_TARGET_DIR", &target_dir.to_string_lossy())
}

fn words(args: &str) -> Vec<String> {
    args.split(' ').map(str::to_owned).collect()
}

/// Returns the tests in the output of `--list --format terse` that are in a module `loom` and
/// contain `filter`.
fn models_in(listing: &str, filter: Option<&str>) -> Vec<String> {
    let names = listing.lines().filter_map(|line| line.strip_suffix(": test"));
    let models = names.filter(|name| {
        let in_loom = name.rsplit("::").skip(1).any(|module| module == "loom");
        in_loom && filter.is_none_or(|filter| name.contains(filter))
    });
    models.map(str::to_owned).collect()
}

fn choose<'a>(krate: &str, with_models: &'a [String]) -> Result<&'a str, String> {
    let fits = |name: &&String| **name == krate || name.strip_prefix("wakeful-") == Some(krate);
    let chosen = with_models.iter().find(fits);
    chosen.map(String::as_str).ok_or_else(|| {
        format!(
            "`{krate}` has no loom models; the crates that have some: [{}]",
            with_models.join(", ")
        )
    })
}

/// Returns the crates that have models. Fails if a model would never run because its module has
/// another name.
fn crates_with_models(files: &Files) -> Result<Vec<String>, String> {
    let mut found = Vec::new();
    for Package { dir, name, .. } in repo::packages(files) {
        let mut has_models = false;
        for module in modules::tree(&dir.join("src/lib.rs"), files) {
            if !(module.test_only && module.loom_only) {
                continue;
            }
            if !module.path.iter().any(|part| part == "loom") {
                return Err(format!(
                    "{}: module `{}` is compiled under loom only, but `cargo xtask loom` runs \
                     modules called `loom`: rename it or put it into one",
                    module.file.display(),
                    module.path.join("::"),
                ));
            }
            has_models = true;
        }
        if has_models {
            found.push(name);
        }
    }
    Ok(found)
}
