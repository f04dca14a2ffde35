//! Which crates' tests are run, and at which versions.

/// The tests of one crate.
pub struct Suite {
    pub krate: &'static str,
    /// Exactly this one, whatever else has been published.
    pub version: &'static str,
    /// Of the crate, for the tests to be built with.
    pub features: &'static [&'static str],
}

/// Tokio at the version that the drop-in stands in for.
pub const TOKIO: Suite =
    Suite { krate: "tokio", version: "1.54.1", features: &["full", "test-util"] };

/// Another suite is a line more here, and `cargo xtask conformance --suite NAME --record`.
pub const SUITES: &[Suite] = &[
    TOKIO,
    Suite { krate: "tokio-stream", version: "0.1.19", features: &["full"] },
    Suite { krate: "tokio-util", version: "0.7.20", features: &["full"] },
];

/// Files with these in their names are left out of a record: they are for other systems, for
/// `--cfg tokio_unstable`, or about panics outside a runtime.
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
