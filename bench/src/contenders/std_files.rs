//! No runtime at all, for what there is a plain system call for.

use crate::cases;
use crate::suite::Contender;

pub fn no_runtime() -> Contender {
    Contender::new("std", &[]).against("tokio-mt").with(cases::file::std_cases())
}
