use super::{conflicting_packages, shortened};

#[test]
fn conflicting_packages_are_parsed_from_cargos_message() {
    let words = "error: failed to select a version for `thread_local`.\n\
        all possible versions conflict with previously selected packages.\n\n  \
        previously selected package `thread_local v1.1.3`\n    \
        ... which satisfies dependency `thread_local = \"^1.0.1\"` (locked to 1.1.3) of package `a v0.2.19`\n  \
        previously selected package `tokio v1.8.1`\n";
    assert_eq!(conflicting_packages(words).collect::<Vec<_>>(), ["thread_local@1.1.3"]);
    assert_eq!(conflicting_packages("error: no such thing").count(), 0);
}

#[test]
fn a_list_of_all_versions_is_shortened() {
    let text = "versions that meet the requirements `^1` are: 1.54.1, 1.54.0, 1.53.2, 1.53.1, 1.53.0, 1.52.9\n\nthe rest";
    assert_eq!(
        shortened(text),
        "versions that meet the requirements `^1` are: 1.54.1, 1.54.0, 1.53.2, 1.53.1, and 2 more\n\nthe rest"
    );
    assert_eq!(
        shortened("versions that meet it are: 1.0.1, 1.0.0"),
        "versions that meet it are: 1.0.1, 1.0.0"
    );
}
