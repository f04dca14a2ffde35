//! Child processes: starting them, their streams, waiting for them.

mod support;

#[path = "process/building.rs"]
mod building;
#[path = "process/ending.rs"]
mod ending;
#[path = "process/limits.rs"]
mod limits;
#[path = "process/orphans.rs"]
mod orphans;
#[path = "process/streams.rs"]
mod streams;
#[path = "process/traced.rs"]
mod traced;

use support::each_flavor;
use wakeful::runtime::Runtime;

/// Creates the runtimes in which each case is tested.
fn runtimes() -> [Runtime; 3] {
    each_flavor()
}
