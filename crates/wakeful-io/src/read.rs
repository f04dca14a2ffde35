//! Reading: `AsyncReadExt`, its futures, and the adapters [`Chain`] and [`Take`].

mod chain;
mod exact;
mod ext;
mod into_buf;
mod number;
mod some;
mod take;
mod to_end;
mod to_string;

pub use chain::Chain;
pub use ext::AsyncReadExt;
pub use take::Take;
