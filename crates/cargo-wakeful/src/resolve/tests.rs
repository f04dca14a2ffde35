use super::conflicting_packages;

#[test]
fn a_locked_version_that_is_in_the_way_is_read_from_cargos_words() {
    let words = "error: failed to select a version for `thread_local`.\n\
        all possible versions conflict with previously selected packages.\n\n  \
        previously selected package `thread_local v1.1.3`\n    \
        ... which satisfies dependency `thread_local = \"^1.0.1\"` (locked to 1.1.3) of package `a v0.2.19`\n  \
        previously selected package `tokio v1.8.1`\n";
    assert_eq!(conflicting_packages(words).collect::<Vec<_>>(), ["thread_local@1.1.3"]);
    assert_eq!(conflicting_packages("error: no such thing").count(), 0);
}
