//! A verdict as the user of the runtime sees it.

use super::verdict::{Grade, Verdict};
use std::fmt;
use wakeful_base::threads::THREAD_ID;
use wakeful_task::Id;

/// Why tasks cannot go on, as far as the runtime can tell.
///
/// `Display` prints the reason, with the ids of the tasks and the places where they were spawned.
/// See [`Builder::on_deadlock`](crate::runtime::Builder::on_deadlock).
///
/// ```
/// use wakeful::runtime::{Builder, Hang};
///
/// fn log(hang: &Hang) {
///     println!("{} among tasks {:?}: {hang}", hang.kind(), hang.tasks());
///     assert!(hang.is_certain());
/// }
///
/// let runtime = Builder::new_multi_thread().on_deadlock(log).build()?;
/// # std::io::Result::Ok(())
/// ```
#[derive(Clone)]
pub struct Hang {
    verdict: Verdict,
    tasks: Vec<Id>,
}

impl Hang {
    pub(super) fn new(verdict: Verdict) -> Hang {
        let mut tasks = Vec::new();
        for member in verdict.members.iter().filter(|member| member.id & THREAD_ID == 0) {
            if let Some(id) = Id::from_u64(member.id) {
                tasks.push(id);
            }
        }
        Hang { verdict, tasks }
    }

    pub(super) fn verdict(&self) -> &Verdict {
        &self.verdict
    }

    /// Returns the name of the reason, such as `deadlock` or `lost waker`.
    pub fn kind(&self) -> &'static str {
        self.verdict.kind.name()
    }

    /// Returns whether the tasks never go on by themselves.
    ///
    /// Otherwise they may, for example if a guard was moved to another task.
    pub fn is_certain(&self) -> bool {
        self.verdict.grade == Grade::Certain
    }

    /// Returns the ids of the tasks, in the order in which they wait for each other. The future of
    /// a `block_on` is no task.
    pub fn tasks(&self) -> &[Id] {
        &self.tasks
    }

    /// Returns the ids of the tasks and of threads in `block_on`.
    pub(crate) fn actors(&self) -> impl Iterator<Item = u64> + '_ {
        self.verdict.members.iter().map(|member| member.id)
    }

    /// Returns what is wrong and what to do about it, in one line.
    pub(crate) fn text(&self) -> &str {
        &self.verdict.text
    }

    /// Returns whether both are the same hang, seen at different times.
    pub(crate) fn is_same_as(&self, other: &Hang) -> bool {
        self.verdict.is_same_as(&other.verdict)
    }
}

impl fmt::Display for Hang {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({}): {}", self.kind(), self.verdict.grade.name(), self.verdict.text)
    }
}

impl fmt::Debug for Hang {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Hang")
            .field("kind", &self.kind())
            .field("is_certain", &self.is_certain())
            .field("tasks", &self.tasks)
            .finish_non_exhaustive()
    }
}
