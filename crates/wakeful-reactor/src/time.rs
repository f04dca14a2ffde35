//! Time: the wheel that keeps timers in order.

mod wheel;

pub use wheel::{Popped, TimerNode, Wheel};
