//! Who is told of stalls.

use super::Stall;
use std::env;
use std::sync::Arc;
use std::time::Duration;
use wakeful_base::catch_panic::contain_panic;
use wakeful_base::diagnostics;

type StallCallback = Arc<dyn Fn(&Stall) + Send + Sync>;

/// What a runtime was told about stalls.
#[derive(Clone)]
pub(crate) struct StallConfig {
    /// How long a poll may last before it counts as one.
    pub(crate) after: Duration,
    /// Whether another thread goes on with what waits behind it.
    pub(crate) hands_off: bool,
    pub(crate) callback: Option<StallCallback>,
    /// A line for each goes to stderr.
    pub(crate) prints: bool,
}

impl StallConfig {
    /// The default: handed off, and told to nobody unless the environment wants it printed.
    pub(crate) fn from_env() -> StallConfig {
        let value = env::var_os("WAKEFUL_STALL_REPORT");
        StallConfig {
            after: Duration::from_millis(2),
            hands_off: true,
            callback: None,
            prints: value.is_some_and(|value| !value.is_empty() && value != "0"),
        }
    }

    /// Whether there is anything for a multi-thread runtime's monitor to do.
    pub(crate) fn is_watched(&self) -> bool {
        self.hands_off || self.reports()
    }

    /// Whether anybody wants to know.
    pub(crate) fn reports(&self) -> bool {
        self.prints || self.callback.is_some()
    }

    /// Tells those who want to know. User code runs in here.
    pub(crate) fn report(&self, stall: &Stall) {
        if self.prints {
            diagnostics::print(format_args!("{stall}"));
        }
        if let Some(callback) = &self.callback {
            contain_panic(|| callback(stall));
        }
    }
}
