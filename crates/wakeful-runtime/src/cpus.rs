//! The number of CPUs.

use std::sync::OnceLock;
use std::thread;

/// Returns how many CPUs this process may use. Cached, because with control groups the lookup takes
/// many system calls.
pub(crate) fn cpus() -> usize {
    static CPUS: OnceLock<usize> = OnceLock::new();
    *CPUS.get_or_init(|| thread::available_parallelism().map_or(1, usize::from))
}

/// Returns whether a control group limits the process to less CPU time than its CPUs have.
pub(crate) fn has_quota() -> bool {
    // `available_parallelism` takes the quota into account, the kernel's list does not.
    std::fs::read_to_string("/proc/self/status").is_ok_and(|status| {
        let list = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:"));
        list.and_then(|list| cpus_in(list.trim())).is_some_and(|allowed| allowed > cpus())
    })
}

/// Counts the CPUs of a list such as `0-3,6`.
fn cpus_in(list: &str) -> Option<usize> {
    let ranges = list.split(',').map(|range| {
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        last.parse::<usize>().ok()?.checked_sub(first.parse().ok()?).map(|more| more + 1)
    });
    ranges.sum()
}

#[cfg(all(test, not(wakeful_loom)))]
mod tests {
    use super::*;

    #[test]
    fn cpu_lists_are_parsed() {
        assert_eq!(cpus_in("0"), Some(1));
        assert_eq!(cpus_in("0-1"), Some(2));
        assert_eq!(cpus_in("0-3,6,8-9"), Some(7));
        assert_eq!(cpus_in("3-1"), None);
        assert_eq!(cpus_in(""), None);
    }
}
