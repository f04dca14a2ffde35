use super::*;

const RESULTS: &str = "\
## Goals

| case | metric | to reach |
|---|---|---:|
| sched/spawn | wall | 1 ns/op |

### sched

| case | metric | wakeful-mt | tokio-mt | best peer |
|---|---|---:|---:|---|
| spawn | wall, ns/op | **42.3** (9.73x) | ~436 | monoio (1.12x) |
| spawn | server CPU, ns/op | ~1,061 (0.72x) | - | - |

## Other

| case | metric | wakeful-mt | tokio-mt | best peer |
|---|---|---:|---:|---|
| other | wall, ns/op | 1 | 2 | - |
";

const MANYCORE: &str = "\
| case | workers | wall: Tokio | Wakeful | ratio | CPU: Tokio | Wakeful | ratio | third: Tokio | Wakeful | ratio |
|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|
| spawn | 8 | 852 | 355 | 2.40x~ | 2020 | 1205 | 1.68x | | | |
| idle | 2 | 200619 | 200545 | 1.00x | 14456 | 9137 | 1.58x | 14.9 | 13.3 | 1.12x |
";

/// Sources with few figures.
pub fn sources() -> Sources {
    let mut sources = Sources::default();
    sources.add_results(RESULTS);
    sources.add_manycore(MANYCORE);
    sources.tests.insert("tokio".to_owned(), 1403);
    sources
}

fn value(name: &str) -> f64 {
    sources().figure(name).unwrap().value
}

#[test]
fn figures_and_ratios_are_found_by_name() {
    assert_eq!(value("sched/spawn wall wakeful-mt"), 42.3);
    assert_eq!(value("sched/spawn wall wakeful-mt ratio"), 9.73);
    assert_eq!(value("sched/spawn server-CPU wakeful-mt"), 1061.0);
    assert_eq!(value("manycore/spawn 8 wall ratio"), 2.4);
    assert_eq!(value("manycore/idle 2 third wakeful"), 13.3);
    assert_eq!(value("tests tokio"), 1403.0);
}

#[test]
fn an_uncertain_figure_is_known_as_such() {
    let is_uncertain = |name| sources().figure(name).unwrap().is_uncertain;
    assert!(is_uncertain("sched/spawn wall tokio-mt"));
    assert!(!is_uncertain("sched/spawn wall wakeful-mt"));
    assert!(is_uncertain("manycore/spawn 8 wall ratio"));
}

#[test]
fn what_is_not_there_is_an_error_that_names_the_file() {
    let error = |name| sources().figure(name).unwrap_err();
    assert!(error("sched/spawn server-CPU tokio-mt").contains("RESULTS"));
    assert!(error("other/other wall tokio-mt").contains("RESULTS"));
    assert!(error("manycore/spawn 8 third ratio").contains("MANYCORE"));
    assert!(error("tests mio").contains("mio"));
}
