use super::super::sources::tests::sources;
use super::*;

const PAGE: &str = "\
Tokio **400<!--= sched/spawn wall tokio-mt --> ns**, Wakeful 42<!--= sched/spawn wall wakeful-mt --> ns.

```text
7<!--= sched/spawn wall tokio-mt -->
```
Write `1<!--= A B C -->` for this.
";

#[test]
fn a_number_that_differs_from_its_source_is_a_problem() {
    let found = check(PAGE, &sources());
    assert_eq!(found.figures, 2);
    let [problem] = &found.problems[..] else { panic!("{:?}", found.problems) };
    assert_eq!(problem.line, 1);
    assert!(problem.message.contains("~436") && problem.message.contains("`400`"));
}

#[test]
fn an_update_replaces_numbers_and_nothing_else() {
    let updated = update(PAGE, &sources()).unwrap();
    assert_eq!(updated, PAGE.replace("400", "~436"));
    assert!(check(&updated, &sources()).problems.is_empty());
    assert_eq!(update(&updated, &sources()).unwrap(), updated);
}

#[test]
fn a_comment_without_a_number_gets_one() {
    let page = "about <!--= tests tokio --> tests\n";
    assert_eq!(check(page, &sources()).problems.len(), 1);
    assert_eq!(update(page, &sources()).unwrap(), "about 1,403<!--= tests tokio --> tests\n");
}

#[test]
fn an_unknown_figure_is_a_problem() {
    let page = "1\n2<!--= sched/none wall tokio-mt -->";
    assert_eq!(check(page, &sources()).problems[0].line, 2);
    assert_eq!(update(page, &sources()).unwrap_err().line, 2);
}
