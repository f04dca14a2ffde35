//! The crates whose tests are run, and their versions.

/// The tests of one crate.
pub struct Suite {
    /// What `--suite` takes.
    pub name: &'static str,
    pub krate: &'static str,
    /// The exact version.
    pub version: &'static str,
    /// The features of the crate that the tests are built with.
    pub features: &'static [&'static str],
    /// The test files, if they are not all those that [`EXCLUDED_FILES`] leaves.
    pub files: Option<&'static [&'static str]>,
    /// Flags for the compiler.
    pub rustflags: &'static str,
    /// Tests that pass on Tokio and must fail on the drop-in: the file, the test, and why.
    pub failing: &'static [(&'static str, &'static str, &'static str)],
    /// Tests that are not run: the file, the test, and why.
    pub left_out: &'static [(&'static str, &'static str, &'static str)],
}

impl Suite {
    /// The tests of a crate that are built as usual and have to pass.
    pub const fn new(
        krate: &'static str,
        version: &'static str,
        features: &'static [&'static str],
    ) -> Suite {
        let (name, files, rustflags) = (krate, None, "");
        Suite { name, krate, version, features, files, rustflags, failing: &[], left_out: &[] }
    }

    /// Returns whether a test is not to be run. `None` stands for all tests of the file.
    pub fn leaves_out(&self, file: &str, test: Option<&str>) -> bool {
        self.left_out.iter().any(|(of, name, _why)| *of == file && Some(*name) == test)
    }
}

/// Tokio, at the version that the drop-in replaces.
pub const TOKIO: Suite = Suite::new("tokio", "1.54.1", &["full", "test-util"]);

/// Tokio's task dumps, which are unstable. The tests look for lines of the source in stacks.
const TASKDUMP: Suite = Suite {
    name: "tokio-taskdump",
    features: &["full", "taskdump", "test-util"],
    files: Some(&["dump", "task_trace_self", "task_trace_wake"]),
    rustflags: "--cfg tokio_unstable -C debuginfo=line-tables-only",
    failing: &[
        ("dump", "current_thread", "the trace has to name Tokio's function `yield_now`"),
        ("dump", "multi_thread", "the trace has to name Tokio's function `yield_now`"),
        (
            "task_trace_self",
            "trace_with_callback_and_backtrace",
            "the trace has to consist of Tokio's functions",
        ),
        (
            "task_trace_wake",
            "trace_with_futures_unordered_mutex_handoff",
            "it looks into a semaphore in the middle: an acquisition that is traced has its permit",
        ),
    ],
    ..TOKIO
};

/// What needs `--cfg tokio_unstable` in Tokio: metrics, hooks, seeds, other timers.
const UNSTABLE: Suite = Suite {
    name: "tokio-unstable",
    features: &["full", "schedule-latency", "test-util"],
    files: Some(&[
        "macros_select",
        "macros_test",
        "rt_basic",
        "rt_common",
        "rt_poll_callbacks",
        "rt_threaded",
        "rt_unstable_eager_driver_handoff",
        "rt_unstable_metrics",
        "rt_worker_index",
        "task_hooks",
        "task_join_set",
        "task_local_set",
        "task_yield_now",
        "time_alt",
        "time_panic",
        "time_rt",
    ]),
    rustflags: "--cfg tokio_unstable",
    failing: &[
        (
            "rt_unstable_eager_driver_handoff",
            "deadlocks_consistently",
            "it shows that Tokio deadlocks without the setting; here the blocked worker is handed off",
        ),
        (
            "rt_unstable_metrics",
            "schedule_latency_lifo_polls_are_recorded_individually",
            "Tokio counts a task and the one polled next from the LIFO slot as one poll; here each \
             poll counts",
        ),
        (
            "rt_unstable_metrics",
            "worker_overflow_count",
            "it counts moves out of a full run queue; here the run queue grows",
        ),
        ("time_alt", "reset_should_stay_on_same_runtime", ALT_TIMER),
        ("time_alt", "reset_should_stay_on_same_runtime2", ALT_TIMER),
    ],
    left_out: &[
        ("task_hooks", "task_hook_schedule_latency_multi_thread", WAITS),
        ("task_hooks", "task_hook_schedule_latency_multi_thread_lifo", WAITS),
        ("rt_unstable_metrics", "io_driver_fd_count", "it connects to a server on the Internet"),
        ("rt_unstable_metrics", "io_driver_ready_count", "it connects to a server on the Internet"),
    ],
    ..TOKIO
};

const WAITS: &str = "it blocks the worker and expects that another task waits; here the worker is handed \
    off, sooner or later";

const ALT_TIMER: &str = "a `Sleep` whose runtime has shut down ends with Tokio's alternative timer; here it \
    panics, as with Tokio's usual one";

/// All suites. To add one, add a line here and run `cargo xtask conformance --suite NAME --record`.
pub const SUITES: &[Suite] = &[
    TOKIO,
    TASKDUMP,
    UNSTABLE,
    Suite::new("tokio-stream", "0.1.19", &["full"]),
    Suite::new("tokio-util", "0.7.20", &["full"]),
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

pub fn named(name: &str) -> Result<&'static Suite, String> {
    let known: Vec<&str> = SUITES.iter().map(|suite| suite.name).collect();
    let found = SUITES.iter().find(|suite| suite.name == name);
    found.ok_or_else(|| format!("unknown suite `{name}`; the suites are: {}", known.join(", ")))
}
