//! The guide in `docs/`. Its pages are the documentation of the modules below, so that their examples
//! are tests.

macro_rules! chapters {
    ($($name:ident: $english:literal, $chinese:literal;)*) => {$(
        #[doc = include_str!(concat!("../", $english))]
        pub mod $name {
            #[doc = include_str!(concat!("../", $chinese))]
            pub mod zh_cn {}
        }
    )*};
}

chapters! {
    flavours: "01-flavours.md", "01-flavours.zh-CN.md";
    blocking: "02-blocking.md", "02-blocking.zh-CN.md";
    time: "03-time.md", "03-time.zh-CN.md";
    paused_clock: "04-paused-clock.md", "04-paused-clock.zh-CN.md";
    shutdown: "05-shutdown.md", "05-shutdown.zh-CN.md";
    stalls: "06-stalls.md", "06-stalls.zh-CN.md";
    moving: "07-moving.md", "07-moving.zh-CN.md";
    differences: "08-differences.md", "08-differences.zh-CN.md";
    faults: "09-faults.md", "09-faults.zh-CN.md";
}
