use super::*;

fn found(line: &str) -> usize {
    find(Path::new("page.md"), line, &Constants::of(&["2 ms"])).len()
}

#[test]
fn a_number_with_a_unit_needs_a_source() {
    for line in ["in 5 ms", "9.7×", "| 1,055 µs |", "a 72-byte header", "**42 ns**", "17 纳秒"]
    {
        assert_eq!(found(line), 1, "{line}");
    }
    assert_eq!(found("218,372/s and 5 ms"), 2);
}

#[test]
fn constants_and_numbers_with_a_comment_have_one() {
    assert_eq!(found("within 2 ms, or 2 毫秒"), 0);
    assert_eq!(found("42<!--= sched/spawn_4 wall 3 ms --> ns"), 0);
}

#[test]
fn names_code_and_counts_are_no_figures() {
    for line in ["Tokio 1.54", "the p99 is", "HTTP/2 streams", "`sleep(5 ms)`", "2 CPUs", "i32s"] {
        assert_eq!(found(line), 0, "{line}");
    }
    assert_eq!(found("```\n5 ms\n```"), 0);
}
