//! The crates whose tests are run, and their versions.

/// The tests of one crate.
#[derive(Clone, Copy)]
pub struct Suite {
    /// Names the lists, and the option `--suite`.
    pub name: &'static str,
    pub krate: &'static str,
    /// The exact version.
    pub version: &'static str,
    /// The features of the crate that the tests are built with.
    pub features: &'static [&'static str],
    /// A `--cfg` that everything is built with. The files of the suite are then those in which it
    /// occurs.
    pub cfg: Option<&'static str>,
    /// Parts of names: files with one of them are not recorded.
    pub excluded_files: &'static [&'static str],
}

impl Suite {
    pub const fn new(
        krate: &'static str,
        version: &'static str,
        features: &'static [&'static str],
    ) -> Suite {
        let name = krate;
        Suite { name, krate, version, features, cfg: None, excluded_files: EXCLUDED_FILES }
    }
}

/// Tokio, at the version that the drop-in replaces.
pub const TOKIO: Suite = Suite::new("tokio", "1.54.1", &["full", "test-util"]);

/// All suites. To add one, add a line here and run `cargo xtask conformance --suite NAME --record`.
pub const SUITES: &[Suite] = &[
    TOKIO,
    Suite {
        name: "tokio-unstable",
        features: &["full", "schedule-latency", "test-util"],
        cfg: Some("tokio_unstable"),
        excluded_files: EXCLUDED_UNSTABLE_FILES,
        ..TOKIO
    },
    Suite::new("tokio-stream", "0.1.19", &["full"]),
    Suite::new("tokio-util", "0.7.20", &["full"]),
];

/// Files that need a feature of Tokio's which the drop-in has for its name only: task dumps, io_uring,
/// `tracing`.
const EXCLUDED_UNSTABLE_FILES: &[&str] =
    &["dump", "task_builder", "task_trace", "tracing_", "uring"];

/// Files that are for other systems, for `--cfg tokio_unstable`, or about panics outside a runtime.
pub const EXCLUDED_FILES: &[&str] = &[
    "_require_full",
    "aio",
    "dump",
    "emscripten",
    "named_pipe",
    "no_rt",
    "task_trace",
    "time_alt",
    "tracing_",
    "unstable",
    "uring",
    "wasm",
    "windows",
];

pub fn named(name: &str) -> Result<&'static Suite, String> {
    let known: Vec<&str> = SUITES.iter().map(|suite| suite.name).collect();
    let found = SUITES.iter().find(|suite| suite.name == name);
    found.ok_or_else(|| format!("unknown suite `{name}`; the suites are: {}", known.join(", ")))
}
