//! The crates whose tests are run, and their versions.

/// The tests of one crate.
pub struct Suite {
    pub krate: &'static str,
    /// The exact version.
    pub version: &'static str,
    /// The features of the crate that the tests are built with.
    pub features: &'static [&'static str],
}

/// Tokio, at the version that the drop-in replaces.
pub const TOKIO: Suite =
    Suite { krate: "tokio", version: "1.54.1", features: &["full", "test-util"] };

/// All suites. To add one, add a line here and run `cargo xtask conformance --suite NAME --record`.
pub const SUITES: &[Suite] = &[
    TOKIO,
    Suite { krate: "tokio-stream", version: "0.1.19", features: &["full"] },
    Suite { krate: "tokio-util", version: "0.7.20", features: &["full"] },
];

/// Files whose names contain one of these are not recorded: they are for other systems, for `--cfg
/// tokio_unstable`, or about panics outside a runtime.
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

pub fn named(krate: &str) -> Result<&'static Suite, String> {
    let known: Vec<&str> = SUITES.iter().map(|suite| suite.krate).collect();
    let found = SUITES.iter().find(|suite| suite.krate == krate);
    found.ok_or_else(|| format!("unknown suite `{krate}`; the suites are: {}", known.join(", ")))
}
