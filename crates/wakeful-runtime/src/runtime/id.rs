//! `Id`: identifies a runtime.

use std::fmt;
use std::num::NonZeroU64;

/// An identifier of a runtime or a `LocalSet`, unique in the process.
///
/// An id is not used again after its runtime has shut down.
///
/// ```
/// use wakeful::runtime::{Handle, Runtime};
///
/// let (one, other) = (Runtime::new()?, Runtime::new()?);
/// assert_ne!(one.handle().id(), other.handle().id());
/// let inside = one.block_on(async { Handle::current().id() });
/// assert_eq!(inside, one.handle().id());
/// # std::io::Result::Ok(())
/// ```
#[derive(Clone, Copy, Debug, Hash, Eq, PartialEq)]
pub struct Id(NonZeroU64);

impl Id {
    pub(crate) fn new(id: NonZeroU64) -> Id {
        Id(id)
    }
}

impl fmt::Display for Id {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}
