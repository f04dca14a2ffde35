//! The error of a task that has no output.

use crate::id::Id;
use std::any::Any;
use std::fmt;
use std::io;

/// The error of a task that did not return a value: it panicked or was cancelled.
///
/// ```
/// use std::panic::resume_unwind;
///
/// # wakeful::runtime::Runtime::new().unwrap().block_on(async {
/// let task = wakeful::spawn(async { 42 });
/// let id = task.id();
/// match task.await {
///     Ok(output) => assert_eq!(output, 42),
///     Err(error) if error.is_panic() => resume_unwind(error.into_panic()),
///     Err(error) => println!("task {id} has no output: {error}"),
/// }
/// # });
/// ```
pub struct JoinError {
    cause: Cause,
    id: Id,
}

enum Cause {
    Cancelled,
    Panic(PanicPayload),
}

/// The payload of a panic.
///
/// `Box<dyn Any + Send>` is not `Sync`, but [`JoinError`] must be `Sync`.
pub(crate) struct PanicPayload(Box<dyn Any + Send>);

// SAFETY: a shared reference gives access to the payload only if it is a `String` or `&str`, and
// both are `Sync`.
unsafe impl Sync for PanicPayload {}

impl PanicPayload {
    pub(crate) fn new(payload: Box<dyn Any + Send>) -> Self {
        PanicPayload(payload)
    }

    fn as_str(&self) -> Option<&str> {
        let text = self.0.downcast_ref::<String>().map(String::as_str);
        text.or_else(|| self.0.downcast_ref::<&'static str>().copied())
    }
}

impl JoinError {
    pub(crate) fn cancelled(id: Id) -> JoinError {
        JoinError { cause: Cause::Cancelled, id }
    }

    pub(crate) fn panic(id: Id, payload: PanicPayload) -> JoinError {
        JoinError { cause: Cause::Panic(payload), id }
    }

    /// Returns whether the task was cancelled: aborted, or dropped at its runtime's shutdown.
    pub fn is_cancelled(&self) -> bool {
        matches!(self.cause, Cause::Cancelled)
    }

    /// Returns whether the task panicked.
    pub fn is_panic(&self) -> bool {
        matches!(self.cause, Cause::Panic(_))
    }

    /// Returns the panic's payload, for [`std::panic::resume_unwind`].
    ///
    /// # Panics
    /// Panics if the task was cancelled. See [`try_into_panic`](Self::try_into_panic).
    ///
    /// ```
    /// use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
    ///
    /// # wakeful::runtime::Runtime::new().unwrap().block_on(async {
    /// let error = wakeful::spawn(async { panic!("out of paper") }).await.unwrap_err();
    /// // As if the task's code had been called here.
    /// let caught = catch_unwind(AssertUnwindSafe(|| resume_unwind(error.into_panic())));
    /// assert_eq!(caught.unwrap_err().downcast_ref(), Some(&"out of paper"));
    /// # });
    /// ```
    #[track_caller]
    pub fn into_panic(self) -> Box<dyn Any + Send + 'static> {
        // No closure, so that `#[track_caller]` reports the caller's location.
        match self.try_into_panic() {
            Ok(payload) => payload,
            Err(error) => panic!(
                "`JoinError::into_panic` called on the error of a task that did not panic \
                 ({error}); check `is_panic` first or use `try_into_panic`"
            ),
        }
    }

    /// Returns the panic's payload, or the error itself if the task was cancelled.
    ///
    /// ```
    /// # wakeful::runtime::Runtime::new().unwrap().block_on(async {
    /// let error = wakeful::spawn(async { panic!("out of paper") }).await.unwrap_err();
    /// let payload = error.try_into_panic().unwrap();
    /// assert_eq!(payload.downcast_ref(), Some(&"out of paper"));
    /// # });
    /// ```
    pub fn try_into_panic(self) -> Result<Box<dyn Any + Send + 'static>, JoinError> {
        match self.cause {
            Cause::Panic(payload) => Ok(payload.0),
            Cause::Cancelled => Err(self),
        }
    }

    /// Returns the id of the task.
    pub fn id(&self) -> Id {
        self.id
    }
}

impl fmt::Display for JoinError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let id = self.id;
        match &self.cause {
            Cause::Cancelled => write!(f, "task {id} was cancelled"),
            Cause::Panic(payload) => match payload.as_str() {
                Some(text) => write!(f, "task {id} panicked with message {text:?}"),
                None => write!(f, "task {id} panicked"),
            },
        }
    }
}

impl fmt::Debug for JoinError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let id = self.id;
        match &self.cause {
            Cause::Cancelled => write!(f, "JoinError::Cancelled({id:?})"),
            Cause::Panic(payload) => match payload.as_str() {
                Some(text) => write!(f, "JoinError::Panic({id:?}, {text:?}, ...)"),
                None => write!(f, "JoinError::Panic({id:?}, ...)"),
            },
        }
    }
}

impl std::error::Error for JoinError {}

impl From<JoinError> for io::Error {
    fn from(error: JoinError) -> io::Error {
        io::Error::other(match error.cause {
            Cause::Cancelled => "task was cancelled",
            Cause::Panic(_) => "task panicked",
        })
    }
}
