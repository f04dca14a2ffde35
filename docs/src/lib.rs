//! The guide in `docs/`. Its pages are the documentation of the modules below, so that their
//! examples are tests.

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
    deployment: "10-deployment.md", "10-deployment.zh-CN.md";
    settings: "11-settings.md", "11-settings.zh-CN.md";
    metrics: "12-metrics.md", "12-metrics.zh-CN.md";
    troubleshooting: "13-troubleshooting.md", "13-troubleshooting.zh-CN.md";
    faq: "14-faq.md", "14-faq.zh-CN.md";
    migration: "15-migration.md", "15-migration.zh-CN.md";
    versions: "16-versions.md", "16-versions.zh-CN.md";
    roadmap: "17-roadmap.md", "17-roadmap.zh-CN.md";
    glossary: "18-glossary.md", "18-glossary.zh-CN.md";
    hangs: "19-hangs.md", "19-hangs.zh-CN.md";
    watching: "20-watching.md", "20-watching.zh-CN.md";
}
