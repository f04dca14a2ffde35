//! The standard library without a runtime, for cases that are plain system calls.

use crate::cases;
use crate::suite::Contender;

pub fn no_runtime() -> Contender {
    Contender::new("std", &[]).against("tokio-mt").with(cases::file::std_cases())
}
