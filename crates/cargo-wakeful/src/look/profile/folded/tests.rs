use super::fold;
use crate::look::profile::stacks::{Frame, Profile, Sample, Time};

fn sample(time: Time, stack: Vec<Frame>, us: u64) -> Sample {
    Sample { time, stack, us, polls: 0 }
}

#[test]
fn a_stack_is_a_line_with_the_outermost_frame_first() {
    let serve = Frame { name: "api::serve".into(), file: Some("src/conn.rs".into()), line: 44 };
    let samples = vec![
        sample(Time::Busy, vec![Frame::of_site("src/db.rs:41:9"), Frame::named("api::db")], 70),
        sample(Time::Waiting, vec![serve, Frame::named("a mutex")], 1_200),
        sample(Time::Waiting, vec![], 5),
    ];
    let profile = Profile {
        times: vec![Time::Busy, Time::Waiting],
        samples,
        us: 10,
        workers_us: 0,
        asked: 1,
        unknown_us: 0,
        remarks: vec![],
    };
    let expected = "busy;src/db.rs:41:9;api::db 70\n\
                    waiting;api::serve (src/conn.rs:44);a mutex 1200\n\
                    waiting 5\n";
    assert_eq!(fold(&profile), expected);
}

#[test]
fn frames_do_not_break_the_format() {
    let frame = Frame::named("<[u8; 4] as Read>::read\nx");
    let line = super::line(&sample(Time::Busy, vec![frame], 1));
    assert_eq!(line, "busy;<[u8, 4] as Read>::read\u{fffd}x 1\n");
}
