//! Task ids.

use std::cell::Cell;
use std::fmt;
use std::num::NonZeroU64;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Identifies a task among all tasks of the process.
///
/// Ids are unique among tasks that exist at the same time. Their order means nothing, and they do
/// not tell which runtime a task belongs to.
///
/// ```
/// use std::collections::HashMap;
/// use wakeful::task::{Id, JoinSet};
///
/// # wakeful::runtime::Runtime::new().unwrap().block_on(async {
/// let mut set = JoinSet::new();
/// let mut names: HashMap<Id, &str> = HashMap::new();
/// for name in ["one", "two"] {
///     names.insert(set.spawn(async {}).id(), name);
/// }
/// while let Some(ended) = set.join_next_with_id().await {
///     let (id, ()) = ended.unwrap();
///     println!("{} has ended", names[&id]);
/// }
/// # });
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Id(NonZeroU64);

/// The number of ids that a thread takes at once from the shared counter. Taken one by one, they
/// would make the counter a contended cache line at each spawn.
const BLOCK: u64 = 256;

static NEXT_BLOCK: AtomicU64 = AtomicU64::new(1);

std::thread_local! {
    /// The next id and the end of this thread's block.
    static OWN: Cell<(u64, u64)> = const { Cell::new((0, 0)) };
}

impl Id {
    /// Returns an id that no task has had.
    #[inline]
    pub fn next() -> Id {
        OWN.with(|own| {
            let (mut next, mut end) = own.get();
            if next == end {
                next = NEXT_BLOCK.fetch_add(BLOCK, Relaxed);
                end = next + BLOCK;
            }
            own.set((next + 1, end));
            Id(NonZeroU64::new(next).expect("the counter starts at one and cannot wrap around"))
        })
    }

    /// Returns the id that is this number, unless it is zero.
    #[doc(hidden)]
    pub fn from_u64(id: u64) -> Option<Id> {
        NonZeroU64::new(id).map(Id)
    }

    /// Returns the id as a number.
    pub fn as_u64(self) -> u64 {
        self.0.get()
    }
}

impl fmt::Debug for Id {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Id").field(&self.0).finish()
    }
}

impl fmt::Display for Id {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}
