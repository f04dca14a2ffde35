//! The settings for stalls, and the calls to the user's callback.

use super::Stall;
use std::env;
use std::sync::Arc;
use std::time::Duration;
use wakeful_base::catch_panic::contain_panic;
use wakeful_base::diagnostics;

type StallCallback = Arc<dyn Fn(&Stall) + Send + Sync>;

/// What the `Builder` and the environment say about stalls.
#[derive(Clone)]
pub(crate) struct StallConfig {
    /// How long a poll may last before it counts as a stall.
    pub(crate) after: Duration,
    /// Whether another thread may take over the worker of a stalled task.
    pub(crate) hands_off: bool,
    pub(crate) callback: Option<StallCallback>,
    /// Whether each stall is printed to stderr.
    pub(crate) prints: bool,
}

impl StallConfig {
    /// Returns the default: hand off, and report only if the environment asks for it.
    pub(crate) fn from_env() -> StallConfig {
        let value = env::var_os("WAKEFUL_STALL_REPORT");
        StallConfig {
            after: Duration::from_millis(2),
            hands_off: true,
            callback: None,
            prints: value.is_some_and(|value| !value.is_empty() && value != "0"),
        }
    }

    /// Returns whether the monitor of a multi-thread runtime has anything to do.
    pub(crate) fn is_watched(&self) -> bool {
        self.hands_off || self.reports()
    }

    /// Returns whether stalls are reported at all.
    pub(crate) fn reports(&self) -> bool {
        self.prints || self.callback.is_some()
    }

    /// Reports a stall to stderr and to the callback, which is user code.
    pub(crate) fn report(&self, stall: &Stall) {
        if self.prints {
            diagnostics::print(format_args!("{stall}"));
        }
        if let Some(callback) = &self.callback {
            contain_panic(|| callback(stall));
        }
    }
}
