//! Sorting with little code.
//!
//! The sorts of std are several kilobytes per type of element, which every program would have to
//! carry. This one is some hundred bytes, and slower by a small factor.

/// What is sorted. Of each type of element, only this much is compiled anew.
trait Items {
    fn is_before(&self, a: usize, b: usize) -> bool;
    fn swap(&mut self, a: usize, b: usize);
}

struct ByOrder<'a, T, F>(&'a mut [T], F);

impl<T, F: Fn(&T, &T) -> bool> Items for ByOrder<'_, T, F> {
    fn is_before(&self, a: usize, b: usize) -> bool {
        (self.1)(&self.0[a], &self.0[b])
    }

    fn swap(&mut self, a: usize, b: usize) {
        self.0.swap(a, b);
    }
}

/// Sorts, given a total order: elements that are alike end up in any order.
#[inline]
pub(crate) fn sort<T>(items: &mut [T], is_before: impl Fn(&T, &T) -> bool) {
    let len = items.len();
    heap_sort(len, &mut ByOrder(items, is_before));
}

/// Sorts by a key. Elements with equal keys end up in any order.
#[inline]
pub(crate) fn sort_by_key<T, K: Ord>(items: &mut [T], key: impl Fn(&T) -> K) {
    sort(items, |a, b| key(a) < key(b));
}

/// A row of a table of numbers. What it is sorted by comes first.
pub(crate) type Row = [u64; 4];

/// Sorts rows by their first numbers, then by the second ones, and so on.
///
/// Tables that are only sorted and searched are made of rows, so that there is one type of them.
#[inline(never)]
pub(crate) fn sort_rows(rows: &mut [Row]) {
    sort(rows, |a, b| a < b);
}

/// Sorts numbers and removes duplicates.
#[inline(never)]
pub(crate) fn sort_numbers(numbers: &mut Vec<u64>) {
    sort(numbers, |a, b| a < b);
    numbers.dedup();
}

/// Returns the sorted rows from the first one on that does not precede `key`.
#[inline(never)]
pub(crate) fn rows_from(rows: &[Row], key: u64) -> &[Row] {
    &rows[rows.partition_point(|row| row[0] < key)..]
}

/// Returns the first of the sorted rows that begins with `key`.
pub(crate) fn find_row(rows: &[Row], key: u64) -> Option<&Row> {
    rows_from(rows, key).first().filter(|row| row[0] == key)
}

#[inline(never)]
fn heap_sort(len: usize, items: &mut dyn Items) {
    if (1..len).all(|at| !items.is_before(at, at - 1)) {
        return;
    }
    // First every parent is made no less than its children, from the last one to the root. Then the
    // root, which is the largest, changes places with the last element of a heap that shrinks.
    for step in (1..len + len / 2).rev() {
        let (mut parent, end) = match step.checked_sub(len) {
            Some(parent) => (parent, len),
            None => {
                items.swap(0, step);
                (0, step)
            }
        };
        loop {
            let mut child = 2 * parent + 1;
            if child >= end {
                break;
            }
            if child + 1 < end && items.is_before(child, child + 1) {
                child += 1;
            }
            if !items.is_before(parent, child) {
                break;
            }
            items.swap(parent, child);
            parent = child;
        }
    }
}

#[cfg(all(test, not(wakeful_loom)))]
mod tests {
    use super::*;

    #[test]
    fn sorts_as_std_does() {
        let mut random = 0x9e37_79b9_7f4a_7c15_u64;
        for len in 0..200 {
            for bound in [2, 10, 1_000_000] {
                let mut next = || {
                    random ^= random << 13;
                    random ^= random >> 7;
                    random ^= random << 17;
                    random % bound
                };
                let mut items: Vec<u64> = (0..len).map(|_| next()).collect();
                let mut expected = items.clone();
                expected.sort_unstable();
                sort(&mut items, |a, b| a < b);
                assert_eq!(items, expected);
                sort_by_key(&mut items, |item| u64::MAX - item);
                expected.reverse();
                assert_eq!(items, expected);
            }
        }
    }
}
