//! Finishes what a waker's panic would leave half done.

use wakeful_base::shield::shield;

/// Calls its function when dropped: in an unwinding, since those who get past the call that may panic
/// forget the guard.
pub(crate) struct OnUnwind<F: FnMut()>(pub(crate) F);

impl<F: FnMut()> Drop for OnUnwind<F> {
    fn drop(&mut self) {
        // A second panic during the first would abort the program.
        shield(&mut self.0);
    }
}
