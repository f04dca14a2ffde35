//! `cargo xtask demo-page`: tests the demo's page in a headless browser.
//!
//! `demo --check` tests the service. This task tests what users see: the page loads without errors,
//! is animated, has both languages, fits windows of any width, and its button that blocks the
//! workers reports that requests were answered meanwhile.

mod service;

use std::path::Path;

use service::Service;

use crate::browser::{Browser, Page};
use crate::cargo::{self, Cargo};
use crate::repo;

/// The maximum p99 latency while the workers are blocked: half of the time that they are blocked.
/// Without the hand-off, most requests would take longer.
const LATENCY_MAX_MS: f64 = 500.0;
const ANSWERED_MIN: f64 = 100.0;

/// The size of a laptop's window, which the pictures have.
const LAPTOP: (u32, u32) = (1280, 800);

/// Builds and starts the demo and tests its page. With `pictures`, takes the pictures in `demo/`
/// again instead, and compresses them with `pngquant` if it is installed.
pub fn run(pictures: bool) -> Result<(), String> {
    let root = repo::root();
    Cargo::new(&root, "build --release -p demo").run()?;
    let service = Service::start(&cargo::target_dir(&root).join("release/demo"))?;
    let mut browser = Browser::start()?;
    let mut page = browser.open()?;
    page.resize(LAPTOP)?;
    page.go(&format!("{}?lang=en", service.url))?;
    page.wait_for("document.documentElement.dataset.state === 'live'", "the stream of events")?;
    check_motion(&mut page)?;
    if pictures {
        take_pictures(&mut page, &service.url, &root.join("demo"))?;
    } else {
        check_requests_while_blocked(&mut page)?;
        check_buttons(&mut page)?;
        check_languages(&mut page, &service.url)?;
        check_layout(&mut page)?;
    }
    page.no_errors()?;
    // The page is still open: its event stream must not keep the service running.
    service.interrupt()?;
    page.wait_for(
        "document.documentElement.dataset.state === 'lost'",
        "the page to notice the end",
    )?;
    println!("    the service ends on Ctrl-C, and the page reports it");
    browser.close()
}

fn check_motion(page: &mut Page) -> Result<(), String> {
    for id in ["tasks", "polls", "wakes", "requests"] {
        let number = format!("parseInt(document.getElementById('{id}').textContent)");
        page.wait_for(&format!("{number} > 0"), &format!("number `{id}`"))?;
    }
    page.evaluate("window.before = document.getElementById('plot').toDataURL()")?;
    let moved = "document.getElementById('plot').toDataURL() !== window.before";
    page.wait_for(moved, "the plot to move")?;
    println!("    the numbers are shown, and the plot moves");
    Ok(())
}

fn check_requests_while_blocked(page: &mut Page) -> Result<(), String> {
    let workers = "[data-post=\"/block/all\"]";
    let done = press(page, workers, "block")?;
    let number = |page: &mut Page, name: &str| page.number(&format!("+{done}.dataset.{name}"));
    let (answered, p99) = (number(page, "answered")?, number(page, "p99")?);
    let seen = format!("{answered} requests answered, p99 {p99} ms");
    if answered < ANSWERED_MIN || p99 > LATENCY_MAX_MS {
        return Err(format!("while all workers were blocked: {seen}"));
    }
    let listed = "document.querySelector('#stall-list tbody').textContent.includes('actions.rs')";
    page.wait_for(listed, "the stall in the list")?;
    println!("    while all workers were blocked: {seen}");
    Ok(())
}

fn check_buttons(page: &mut Page) -> Result<(), String> {
    for kind in ["compute", "tasks", "timers"] {
        press(page, &format!("[data-post=\"/{kind}\"]"), kind)?;
    }
    for (load, is_right) in [("0", "=== 0"), ("64", "> 0")] {
        page.evaluate(&format!("document.querySelector('#load [value=\"{load}\"]').click()"))?;
        let rate = "parseInt(document.getElementById('requests').textContent)";
        page.wait_for(&format!("{rate} {is_right}"), &format!("the load to be {load}"))?;
    }
    println!("    every button works");
    Ok(())
}

/// Presses a button and waits for its result. Returns an expression for the element with the
/// result.
fn press(page: &mut Page, button: &str, kind: &str) -> Result<String, String> {
    let result = format!("document.querySelector('[data-result={kind}]')");
    page.evaluate(&format!(
        "window.number = {result}.dataset.number; document.querySelector('{button}').click()"
    ))?;
    let done =
        format!("{result}.dataset.number !== window.number && {result}.dataset.over === 'true'");
    page.wait_for(&done, &format!("the result of {button}"))?;
    Ok(result)
}

fn check_languages(page: &mut Page, url: &str) -> Result<(), String> {
    let same = "import('/text.js').then(({ languages: { en, zh } }) => \
                String(Object.keys(en)) === String(Object.keys(zh)))";
    page.wait_for(same, "the same texts in both languages")?;
    let all_there =
        "[...document.querySelectorAll('[data-text]')].every(e => e.textContent !== '')";
    for (language, word) in [("zh-CN", "阻塞"), ("en", "Block")] {
        page.evaluate("document.getElementById('language').click()")?;
        page.wait_for(
            &format!(
                "document.documentElement.lang === '{language}' && {all_there} && \
                 document.querySelector('.block h2').textContent.includes('{word}')"
            ),
            &format!("the texts in {language}"),
        )?;
    }
    page.evaluate("localStorage.clear()")?;
    for (reads, language) in [("zh-TW", "zh-CN"), ("de", "en")] {
        page.prefer_language(reads)?;
        page.go(url)?;
        let chosen = format!("document.documentElement.lang === '{language}' && {all_there}");
        page.wait_for(&chosen, &format!("the language {language} for readers of {reads}"))?;
    }
    println!("    both languages work, and the browser's is the default");
    Ok(())
}

fn check_layout(page: &mut Page) -> Result<(), String> {
    for width in [1920, 1280, 1024, 768, 390] {
        page.resize((width, 800))?;
        page.wait_for(
            &format!("innerWidth === {width} && document.documentElement.scrollWidth <= {width}"),
            &format!("a page without a horizontal scroll bar at {width} pixels"),
        )?;
    }
    page.resize(LAPTOP)?;
    for scheme in ["dark", "light"] {
        page.prefer_scheme(scheme)?;
        let ground = "getComputedStyle(document.body).backgroundColor.match(/\\d+/)[0] < 128";
        page.wait_for(&format!("{ground} === {}", scheme == "dark"), &format!("a {scheme} page"))?;
    }
    println!("    the page fits wide and narrow windows, in light and dark");
    Ok(())
}

/// Takes the pictures, after using the page for half a minute.
fn take_pictures(page: &mut Page, url: &str, folder: &Path) -> Result<(), String> {
    page.pause(10)?;
    for (button, kind) in
        [("tasks", "tasks"), ("timers", "timers"), ("compute", "compute"), ("block/all", "block")]
    {
        press(page, &format!("[data-post=\"/{button}\"]"), kind)?;
        page.pause(2)?;
    }
    for (language, name) in [("en", "screenshot.png"), ("zh", "screenshot.zh-CN.png")] {
        page.go(&format!("{url}?lang={language}"))?;
        page.pause(2)?;
        page.save_picture(&folder.join(name))?;
    }
    Ok(())
}
