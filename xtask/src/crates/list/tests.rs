use super::{Entry, Skip, parse};

#[test]
fn entries_have_arguments_and_skips() {
    let text = "# comment\n\nsmall 1.0.0 quick\nlarge 0.2.1 --features a,b --lib\n    \
                skip lib a::b: needs a network\n    skip lib c::*: needs a server\n    skip tests/ui: compares messages\n    \
                copy README.md ../README.md: a test reads it\n";
    let skip = |target: &str, test: Option<&str>| Skip {
        target: target.to_owned(),
        test: test.map(str::to_owned),
    };
    let entry = |name: &str, version: &str, is_quick, args: &[&str], skips| Entry {
        name: name.to_owned(),
        version: version.to_owned(),
        is_quick,
        args: args.iter().map(|&arg| arg.to_owned()).collect(),
        skips,
        copies: Vec::new(),
    };
    let large = [skip("lib", Some("a::b")), skip("lib", Some("c::*")), skip("tests/ui", None)];
    let large = entry("large", "0.2.1", false, &["--features", "a,b", "--lib"], large.into());
    let copies = vec![("README.md".to_owned(), "../README.md".to_owned())];
    let large = Entry { copies, ..large };
    assert!(large.skips("lib", Some("a::b")) && !large.skips("lib", Some("a::b::c")));
    assert!(large.skips("lib", Some("c::d")) && !large.skips("tests/a", Some("c::d")));
    assert!(large.skips("tests/ui", None) && large.skips("tests/ui", Some("any")));
    assert!(!large.skips("lib", None));
    assert_eq!(parse(text), Ok(vec![entry("small", "1.0.0", true, &[], vec![]), large]));
}

#[test]
fn a_skip_without_a_reason_or_a_crate_is_an_error() {
    let error = parse("a 1.0.0\n    skip lib b\n").unwrap_err();
    assert!(error.contains("list.txt:2: a skip needs a reason"), "{error}");
    assert!(parse("    skip lib b: why\n").unwrap_err().contains("no crate before"));
    assert!(parse("alone\n").unwrap_err().contains("no version"));
}
