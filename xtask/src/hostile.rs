//! `cargo xtask hostile`: wakers, values and hooks that panic, and an allocator that calls the
//! runtime.
//!
//! With a nightly toolchain on Linux they run under AddressSanitizer: once with the slab allocator,
//! and once without, so that each task is a separate allocation. The programs are in
//! `torture/src/bin`.

use std::process::{Command, Stdio};
use std::time::Duration;

use crate::cargo::{self, Cargo};
use crate::options::{Options, seconds};
use crate::repo;

/// The default total time, without builds.
const TIME: Duration = Duration::from_secs(24);

/// The systems on which AddressSanitizer works without building std for it: OS, architecture,
/// target.
const TARGETS: &[(&str, &str, &str)] = &[
    ("linux", "x86_64", "x86_64-unknown-linux-gnu"),
    ("linux", "aarch64", "aarch64-unknown-linux-gnu"),
];

/// Leak detection is off: the programs count leaks themselves, and some are intended. After a
/// report the programs abort, and print what they were doing.
const ASAN_OPTIONS: &str = "detect_leaks=0:detect_stack_use_after_return=1:abort_on_error=1";

/// A way to build the programs.
struct Variant {
    name: &'static str,
    flags: &'static str,
}

/// Debug assertions are enabled only without slabs: that variant differs from users' builds
/// already.
const VARIANTS: &[Variant] = &[
    Variant { name: "slabs", flags: "" },
    Variant { name: "no-slabs", flags: "--cfg wakeful_no_slab -C debug-assertions" },
];

/// Runs both programs in each variant.
pub fn run(options: &[&str]) -> Result<(), String> {
    let options =
        Options::parse(options, &["for", "seed", "only", "scenario", "round", "workers"])?;
    let time = options.duration("for")?.unwrap_or(TIME);
    let target = asan_target();
    match target {
        Some(target) => println!("    with AddressSanitizer, on {target}"),
        None => println!(
            "    without AddressSanitizer, which needs a nightly toolchain (`rustup toolchain install \
             nightly`) on x86_64 or aarch64 Linux"
        ),
    }
    let programs = programs(&options, time / VARIANTS.len() as u32)?;
    for variant in VARIANTS {
        for (program, args) in &programs {
            command(variant, target, program).args(args).run()?;
        }
    }
    Ok(())
}

/// Returns the programs and their arguments, for `time` in total.
fn programs(options: &Options, time: Duration) -> Result<Vec<(&'static str, Vec<String>)>, String> {
    let with_time = |names: &[&str], time: Duration| {
        let mut args = vec!["--".to_owned(), "--for".to_owned(), seconds(time)];
        args.extend(options.only(names));
        args
    };
    Ok(match options.text("only") {
        Some("allocator") => {
            vec![("hostile_alloc", with_time(&["seed", "round", "workers"], time))]
        }
        Some(_) => vec![("hostile", with_time(&["seed", "only", "scenario"], time))],
        None => vec![
            ("hostile", with_time(&["seed"], time * 3 / 4)),
            ("hostile_alloc", with_time(&["seed"], time / 4)),
        ],
    })
}

fn command(variant: &Variant, target: Option<&str>, program: &str) -> Cargo {
    let root = repo::root();
    let run = format!("run --release --quiet --package wakeful-torture --bin {program}");
    let target_dir = cargo::target_dir(&root).join("hostile").join(variant.name);
    let target_dir = target_dir.to_string_lossy();
    match target {
        None => Cargo::new(&root, &run).env("RUSTFLAGS", variant.flags),
        Some(target) => Cargo::nightly(&root, &format!("{run} --target {target}"))
            .env("RUSTFLAGS", &format!("-Zsanitizer=address {}", variant.flags))
            .env("ASAN_OPTIONS", ASAN_OPTIONS),
    }
    .env("CARGO_TARGET_DIR", &target_dir)
}

fn asan_target() -> Option<&'static str> {
    let (os, arch) = (std::env::consts::OS, std::env::consts::ARCH);
    let (_, _, target) = TARGETS.iter().find(|target| (target.0, target.1) == (os, arch))?;
    let mut cargo = Command::new("cargo");
    cargo.args(["+nightly", "--version"]).stdout(Stdio::null()).stderr(Stdio::null());
    cargo.status().is_ok_and(|status| status.success()).then_some(*target)
}
