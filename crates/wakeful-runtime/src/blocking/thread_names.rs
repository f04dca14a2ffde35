//! The names of the pool's threads.
//!
//! A name may come from the user's function, which may block: on a lock that a stalled task holds,
//! for example. The monitor starts threads to take over stalled workers, so it must not call that
//! function. It uses a name that a worker has **prepared**, or the default one.

use crate::config::ThreadNaming;
use std::sync::atomic::{AtomicBool, Ordering::*};
use wakeful_base::catch_panic::contain_panic;
use wakeful_base::sync::Mutex;

/// The name of a thread for which the user's function cannot be called, or panics.
const DEFAULT: &str = "wakeful-worker";

pub(super) struct ThreadNames {
    naming: ThreadNaming,
    /// Whether a name is prepared, or a thread is calling the user's function for it. Every worker
    /// reads this when it parks, so it is not behind the lock.
    is_claimed: AtomicBool,
    prepared: Mutex<Option<String>>,
}

impl ThreadNames {
    pub(super) fn new(naming: ThreadNaming) -> ThreadNames {
        ThreadNames { naming, is_claimed: AtomicBool::new(false), prepared: Mutex::new(None) }
    }

    /// Returns whether names come from the user's function.
    pub(super) fn run_user_code(&self) -> bool {
        matches!(self.naming, ThreadNaming::Function(_))
    }

    /// Returns the name of the next thread. Calls the user's function if that is allowed and no
    /// name is prepared.
    pub(super) fn take(&self, may_run_user_code: bool) -> String {
        let name = match &self.naming {
            ThreadNaming::Fixed(name) => Some(name.clone()),
            ThreadNaming::Function(function) => self.take_prepared().or_else(|| {
                let mut name = None;
                if may_run_user_code {
                    contain_panic(|| name = Some(function()));
                }
                name
            }),
        };
        name.filter(|name| !name.contains('\0')).unwrap_or_else(|| DEFAULT.to_owned())
    }

    fn take_prepared(&self) -> Option<String> {
        let name = self.prepared.lock().take()?;
        self.is_claimed.store(false, Release);
        Some(name)
    }

    /// Returns whether [`prepare`](Self::prepare) would call the user's function.
    pub(super) fn needs_preparation(&self) -> bool {
        self.run_user_code() && !self.is_claimed.load(Relaxed)
    }

    /// Calls the user's function for the next thread that is started.
    pub(super) fn prepare(&self) {
        let ThreadNaming::Function(function) = &self.naming else { return };
        if self.is_claimed.swap(true, AcqRel) {
            return;
        }
        let mut name = None;
        contain_panic(|| name = Some(function()));
        match name {
            Some(name) => *self.prepared.lock() = Some(name),
            None => self.is_claimed.store(false, Release),
        }
    }
}

#[cfg(all(test, not(wakeful_loom)))]
mod tests {
    use super::*;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

    fn numbered() -> ThreadNames {
        let number = AtomicU32::new(0);
        let function = move || format!("t{}", number.fetch_add(1, Relaxed));
        ThreadNames::new(ThreadNaming::Function(Arc::new(function)))
    }

    #[test]
    fn names_come_in_order_whether_prepared_or_not() {
        let names = numbered();
        assert_eq!(names.take(true), "t0");
        assert!(names.needs_preparation());
        names.prepare();
        assert!(!names.needs_preparation());
        names.prepare();
        assert_eq!(names.take(false), "t1");
        assert_eq!(names.take(false), DEFAULT, "the function is not called");
        assert_eq!(names.take(true), "t2");
    }

    #[test]
    fn a_thread_whose_name_function_panics_gets_the_default_name() {
        let function: Arc<dyn Fn() -> String + Send + Sync> = Arc::new(|| panic!("no name"));
        let names = ThreadNames::new(ThreadNaming::Function(function));
        names.prepare();
        assert_eq!(names.take(true), DEFAULT);
        assert!(names.needs_preparation());
    }

    #[test]
    fn a_fixed_name_needs_no_preparation() {
        let names = ThreadNames::new(ThreadNaming::Fixed("pool".into()));
        assert!(!names.needs_preparation() && !names.run_user_code());
        assert_eq!(names.take(false), "pool");
    }
}
