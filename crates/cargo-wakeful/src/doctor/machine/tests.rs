use semver::Version;

use super::{is_older, quota_of, shown, system_calls, thread_limit};

#[test]
fn a_quota_is_a_number_of_cpus() {
    assert_eq!(quota_of("150000 100000\n"), Some(1.5));
    assert_eq!(quota_of("max 100000\n"), None);
    assert_eq!(quota_of(""), None);
}

#[test]
fn a_nightly_of_the_needed_version_is_new_enough() {
    let needed = Version::new(1, 85, 0);
    assert!(is_older(&Version::new(1, 84, 1), &needed));
    assert!(!is_older(&"1.85.0-nightly".parse().unwrap(), &needed));
    assert!(!is_older(&Version::new(2, 0, 0), &needed));
}

#[test]
fn limits_are_read_and_shown() {
    assert!(thread_limit().0 > 0);
    assert_eq!((shown(u64::MAX), shown(7)), ("unlimited".to_owned(), "7".to_owned()));
}

#[test]
fn each_system_call_works_or_is_reported() {
    let findings = system_calls();
    let reported: String = findings.iter().map(|finding| finding.message.as_str()).collect();
    for call in super::CALLS {
        assert!(reported.contains(call.name), "{} is not in: {reported}", call.name);
    }
}
