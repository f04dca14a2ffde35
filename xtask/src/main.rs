//! Development tasks of the Wakeful workspace, run as `cargo xtask <task>`.
//!
//! It has no dependencies on purpose: the tidy checks of a fresh clone run a few seconds after the
//! compiler starts, and no release of another crate can break a check.
//!
//! | file | task |
//! |---|---|
//! | `ci.rs` | runs all checks in order |
//! | `tidy.rs` and `tidy/` | rules about source files, which `rust.rs` and `rust/` read |
//! | `crates.rs` | runs the tests of published crates on Tokio and on the drop-in |
//! | `api_diff.rs`, `conformance.rs`, `features.rs`, `hello.rs` | compare the drop-in with Tokio |
//! | `figures.rs` | compares figures in the documents with the benchmarks' results |
//! | `manycore.rs` | measures on a virtual machine with many cores |
//! | `package.rs` | packages the crates that are published |
//! | `book.rs` | checks the guide's pages, and builds them with mdBook |
//! | `examples.rs` | checks that public items have examples |
//! | `loom.rs`, `miri.rs` | run unit tests under a checker |
//! | `fuzz.rs`, `faults.rs`, `hostile.rs`, `soak.rs` | start test programs |
//! | `servers.rs`, `demo_page.rs`, `console_page.rs` | tests that need other programs |
//! | `repo.rs`, `manifest.rs`, `cargo.rs`, `probe.rs`, `json.rs`, `options.rs`, `browser.rs` | shared helpers |

mod api_diff;
mod book;
mod browser;
mod cargo;
mod ci;
mod conformance;
mod console_page;
mod crates;
mod demo_page;
mod dumps;
mod examples;
mod faults;
mod features;
mod figures;
mod fuzz;
mod hello;
mod hostile;
mod json;
mod loom;
mod manifest;
mod manycore;
mod miri;
mod options;
mod package;
mod probe;
mod repo;
mod rust;
mod servers;
mod soak;
mod tidy;

use std::process::ExitCode;

const USAGE: &str = "\
usage: cargo xtask <task>

  api-diff [OPTIONS]      compare the drop-in's public API with Tokio's
  book                    check the guide's chapters, languages and links; build it if mdBook is
                          installed
  ci                      all checks that a change must pass, the fastest first
  conformance [OPTIONS]   run Tokio's published tests on the drop-in
  console-page            test the page of `cargo wakeful console` in Chromium
  crates [CRATE…]         run the own tests of published crates on Tokio and on the drop-in
  demo-page               test the demo's page in Chromium
  examples                check that every public item has an example that runs
  faults [OPTIONS]        inject failing system calls, resource limits and closed descriptors
  features                compile the drop-in with each of Tokio's features and with common sets
  figures [OPTIONS]       check that figures in the documents are those of the benchmarks
  fuzz [OPTIONS]          compare random operations on Wakeful with the same ones on Tokio
  hello                   compare the build costs of a small program on Tokio and on the drop-in
  hostile [OPTIONS]       test wakers, values and hooks that panic, and an allocator that calls the
                          runtime; with AddressSanitizer if a nightly toolchain is installed
  leaks [OPTIONS]         check that descriptors, threads and memory are released
  loom [CRATE] [FILTER]   model-check one crate, or every crate that has loom models
  manycore [OPTIONS]      compare with Tokio on a virtual machine with many cores; x86-64 Linux only
  miri [CRATE] [FILTER]   run unit tests under Miri, which needs a nightly toolchain
  package                 package the published crates, build them from the packages, and document
                          them as docs.rs does
  servers                 run the tests that need PostgreSQL, Redis and NATS, which it starts and stops
  dumps [OPTIONS]         make requests to a server that prints dumps; none may fail
  soak [OPTIONS]          run a mixed load for a while and check its totals
  tidy                    check layers, module cycles, unsafe comments, leftovers, dead files, sizes,
                          words

api-diff:    --features A,B  compare with these features of Tokio [default: full, test-util]
             --hidden        also list differences in items hidden from the documentation
             --extra         also list items that Tokio does not have
ci:          --without-servers  skip the pages and the tests of task `servers`
conformance: --only FILE…    run only these test files
             --suite NAME    run only this suite; see xtask/src/conformance/suites.rs
             --json FILE     write the outcome of every test of the suite to this file
             --limit SECONDS the time limit of each test [default: 60]
             --record        run on Tokio itself and rewrite the lists
crates:      --quick         run only the crates marked `quick` in xtask/crates/list.txt
             --record        write the results to xtask/crates/results.txt and docs/crates.md
console-page: --pictures     take the pictures in docs/ again instead of testing
demo-page:   --pictures      take the pictures in demo/ again instead of testing
faults, leaks:
             --all           run all cases, in full size [default: less than a minute in total]
             --only TEXT     run the cases whose name contains TEXT; --list prints the names
             --help          print all options of the two programs
figures:     --write         update the documents and pictures
fuzz:        FAMILY…         fuzz only these families of types; an unknown name prints them all
             --rounds N      the number of scripts of each family [default: some seconds' worth]
             --for TIME      run for this time instead, such as 10m
             --seed S        the seed of the first script, incremented for each one [default: 1]
             --ops N         the maximum number of operations in a script
             --verbose       print each script before it runs, to find one that crashes
hostile:     --for TIME      the total time of all programs, such as 30s or 10m
             --seed N        the seed that selects the scenarios
             --only FAMILY   run only this family; `allocator` has its own program
loom:        CRATE may omit the prefix `wakeful-`; LOOM_* environment variables are respected
manycore:    --workers A,B   the numbers of workers [default: 2,4,8,16,32,64]
             --cases A,B     measure only these cases; an unknown name prints them all
             --seeds N       the number of runs of each figure, with other random numbers [default: 5]
             --wake-us N     the time from a wake-up until the thread runs [default: 5]
             --cpus N        the number of CPUs [default: one for each thread]
             --quota N       a CPU quota, in CPUs, such as 0.5 [default: none]
             --set NAME=N,…  other constants of the machine; see bench/MANYCORE.md
             --check         fail if a case falls behind Tokio
             --write         write bench/MANYCORE.md and its picture
             --profile CASE:RUNTIME:WORKERS
                             list the places in the code that wait for cache lines
dumps:       --for TIME, --every TIME, --connections N, --pause TIME, --idle N, --stacks N
soak:        --for TIME, --seed N, --workers N";

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    let outcome = match args[..] {
        ["api-diff", ref options @ ..] => api_diff::run(options),
        ["book"] => book::run(),
        ["ci"] => ci::run(true),
        ["ci", "--without-servers"] => ci::run(false),
        ["conformance", ref options @ ..] => conformance::run(options),
        ["console-page"] => console_page::run(false),
        ["console-page", "--pictures"] => console_page::run(true),
        ["crates", ref options @ ..] => crates::run(options),
        ["demo-page"] => demo_page::run(false),
        ["demo-page", "--pictures"] => demo_page::run(true),
        ["dumps", ref options @ ..] => dumps::run(options),
        ["examples"] => examples::run(),
        ["faults", ref options @ ..] => faults::run(options),
        ["features"] => features::run(),
        ["figures", ref options @ ..] => figures::run(options),
        ["fuzz", ref options @ ..] => fuzz::run(options),
        ["hello"] => hello::run(),
        ["hostile", ref options @ ..] => hostile::run(options),
        ["leaks", ref options @ ..] => faults::run_leaks(options),
        ["loom"] => loom::run(None, None),
        ["loom", krate] => loom::run(Some(krate), None),
        ["loom", krate, filter] => loom::run(Some(krate), Some(filter)),
        ["manycore", ref options @ ..] => manycore::run(options),
        ["miri"] => miri::run(None, None),
        ["miri", krate] => miri::run(Some(krate), None),
        ["miri", krate, filter] => miri::run(Some(krate), Some(filter)),
        ["package"] => package::run(),
        ["servers"] => servers::run(),
        ["soak", ref options @ ..] => soak::run(options),
        ["tidy"] => tidy::run(),
        ["help" | "--help" | "-h"] => {
            println!("{USAGE}");
            Ok(())
        }
        [] => Err(format!("no task given\n\n{USAGE}")),
        _ => Err(format!("unknown task: `cargo xtask {}`\n\n{USAGE}", args.join(" "))),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            eprintln!("xtask: {why}");
            ExitCode::FAILURE
        }
    }
}
