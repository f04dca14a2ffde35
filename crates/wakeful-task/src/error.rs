//! Why a task has no output.

use crate::id::Id;
use std::any::Any;
use std::fmt;
use std::io;

/// A task that did not end with a value: it panicked or was cancelled.
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

/// A panic's payload.
///
/// `Box<dyn Any + Send>` is not `Sync`, and a [`JoinError`] should be.
pub(crate) struct PanicPayload(Box<dyn Any + Send>);

// SAFETY: through a shared reference the payload is only looked at as `String` or `&str`, both `Sync`.
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

    /// Whether the task was cancelled: aborted, or dropped by its runtime's shutdown.
    pub fn is_cancelled(&self) -> bool {
        matches!(self.cause, Cause::Cancelled)
    }

    /// Whether the task panicked.
    pub fn is_panic(&self) -> bool {
        matches!(self.cause, Cause::Panic(_))
    }

    /// The panic's payload, fit for [`std::panic::resume_unwind`].
    ///
    /// # Panics
    /// If the task was cancelled; see [`try_into_panic`](Self::try_into_panic).
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
        // No closure: the panic's location is to be the caller's.
        match self.try_into_panic() {
            Ok(payload) => payload,
            Err(error) => panic!(
                "`JoinError::into_panic` called on the error of a task that did not panic \
                 ({error}); check `is_panic` first or use `try_into_panic`"
            ),
        }
    }

    /// The panic's payload, or the error itself if the task was cancelled.
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

    /// The id of the task.
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
