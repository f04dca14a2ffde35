use super::Tests;

#[test]
fn a_saved_list_can_be_read_back() {
    let mut tests = Tests::default();
    tests.add("net", Some("inner::connects"));
    tests.add("net", Some("accepts"));
    tests.add("compiles_only", None);
    let text = tests.text("What passes");
    assert_eq!(
        text.lines().skip(1).collect::<Vec<_>>(),
        ["compiles_only", "net accepts", "net inner::connects"]
    );
    assert_eq!(Tests::parse(&text), tests);
    assert_eq!(tests.count(), 2);
}

#[test]
fn only_the_named_files_are_kept() {
    let mut tests = Tests::parse("a one\nb two\nc\n");
    tests.keep_files(&["b".to_owned(), "c".to_owned()]);
    assert_eq!(tests.files().collect::<Vec<_>>(), ["b", "c"]);
    assert_eq!(tests.of("b").collect::<Vec<_>>(), ["two"]);
    assert_eq!(tests.of("a").count(), 0);
}
