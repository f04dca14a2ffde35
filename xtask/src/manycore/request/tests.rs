use super::*;

#[test]
fn everything_is_measured_by_default() {
    let request = Request::parse(&[]).unwrap();
    assert_eq!(request.task, Task::Print);
    assert_eq!(request.workers, WORKERS);
    assert!(request.cases.is_empty() && request.constants.is_empty());
}

#[test]
fn options_set_constants_of_the_machine() {
    let request = Request::parse(&["--wake-us", "20", "--set", "rmw-ns=8,io-us=2", "--check"]);
    let request = request.unwrap();
    assert_eq!(request.task, Task::Check);
    assert_eq!(request.constants, ["rmw-ns=8", "io-us=2", "wake-us=20"]);
}

#[test]
fn lists_are_separated_by_commas() {
    let request = Request::parse(&["--workers", "2,8", "--cases", "spawn,yield"]).unwrap();
    assert_eq!(request.workers, [2, 8]);
    assert_eq!(request.cases, ["spawn", "yield"]);
    assert!(Request::parse(&["--workers", "2,x"]).unwrap_err().contains("`x`"));
    Request::parse(&["--workers", "0"]).unwrap_err();
}

#[test]
fn a_profile_is_of_one_run() {
    let request = Request::parse(&["--profile", "spawn:wakeful:16"]).unwrap();
    let Task::Profile(run) = request.task else { panic!("not a profile") };
    assert_eq!((run.case.as_str(), run.runtime, run.workers), ("spawn", "wakeful", 16));
    Request::parse(&["--profile", "spawn:other:16"]).unwrap_err();
    Request::parse(&["--profile", "spawn:tokio:16", "--check"]).unwrap_err();
}
