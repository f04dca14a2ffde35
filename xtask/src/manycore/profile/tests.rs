use super::*;

#[test]
fn sites_are_read_from_the_output() {
    let site = parse_site("site 0x1020ee 3642 291069").unwrap();
    assert_eq!((site.offset.as_str(), site.transfers, site.time_ns), ("0x1020ee", 3642, 291069.0));
    assert!(parse_site("something else").is_none());
}

#[test]
fn places_are_named_by_their_own_code_rather_than_by_std() {
    let text = "0x10\n\
                compare_exchange\n\
                /rustc/0123/library/core/src/sync/atomic.rs:1\n\
                pop\n\
                /a/crates/wakeful-runtime/src/queue.rs:7\n\
                0x20\n\
                lock\n\
                /b/registry/src/index.example/tokio-1.54.1/src/lib.rs:9\n\
                0x30\n\
                drop\n\
                /rustc/0123/library/alloc/src/sync.rs:3\n";
    assert_eq!(
        parse_places(text),
        [
            "wakeful-runtime/src/queue.rs:7 pop",
            "tokio-1.54.1/src/lib.rs:9 lock",
            "library/alloc/src/sync.rs:3 drop",
        ]
    );
}
