use super::{Counts, Difference, Results, Run};

fn difference(test: &str, on_tokio: u32, on_wakeful: u32) -> Difference {
    Difference { target: "lib".to_owned(), test: test.to_owned(), on_tokio, on_wakeful }
}

#[test]
fn results_are_read_as_they_were_written() {
    let counts = Counts {
        both: 12,
        neither: 2,
        skipped: 1,
        uncompiled: vec!["tests/a".to_owned(), "tests/b".to_owned()],
        differences: vec![difference("x::y", 5, 0)],
    };
    let mut results = Results::default();
    let run = Run { version: "1.2.3".to_owned(), date: "2026-01-31".to_owned(), counts };
    results.0.insert("name".to_owned(), run);
    assert_eq!(Results::parse(&results.text()).unwrap(), results);
    assert!(Results::parse("name 1.2.3\n").is_err());
    assert!(Results::parse("    differs lib a tokio=1 wakeful=0\n").is_err());
}

#[test]
fn a_test_counts_if_it_passes_as_often_as_on_tokio() {
    let differences = vec![
        difference("coincidence", 5, 5),
        difference("fails", 5, 0),
        difference("flaky on both", 3, 3),
        difference("worse", 4, 2),
        difference("better", 0, 5),
    ];
    let mut counts = Counts { both: 10, differences, ..Counts::default() };
    counts.settle();
    assert_eq!((counts.both, counts.differences.len()), (11, 4));
    assert_eq!((counts.on_tokio(), counts.on_wakeful()), (14, 12));
    let failure = counts.failure("name").unwrap();
    assert!(failure.contains("lib fails, lib worse") && !failure.contains("flaky"), "{failure}");
    assert_eq!(Counts::default().failure("name"), None);
}
