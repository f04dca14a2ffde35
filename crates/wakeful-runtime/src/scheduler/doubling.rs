//! A pause that doubles, for something that is retried less and less often.

use std::ops::Add;

/// A value that doubles each time it is taken, from a lower to an upper bound.
pub(super) struct Doubling<T> {
    next: T,
    bounds: (T, T),
}

impl<T: Copy + Ord + Add<Output = T>> Doubling<T> {
    pub(super) fn new(bounds: (T, T)) -> Doubling<T> {
        Doubling { next: bounds.0, bounds }
    }

    /// Returns the current value, and doubles the next one.
    pub(super) fn take(&mut self) -> T {
        let now = self.next;
        self.next = (now + now).min(self.bounds.1);
        now
    }

    /// Starts again at the lower bound.
    pub(super) fn begin_anew(&mut self) {
        self.next = self.bounds.0;
    }
}

#[cfg(all(test, not(wakeful_loom)))]
mod tests {
    use super::*;

    #[test]
    fn doubles_up_to_its_bound_and_starts_again() {
        let mut doubling = Doubling::new((3, 20));
        assert_eq!([0; 5].map(|_| doubling.take()), [3, 6, 12, 20, 20]);
        doubling.begin_anew();
        assert_eq!([0; 2].map(|_| doubling.take()), [3, 6]);
    }
}
