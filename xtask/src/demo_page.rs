//! `cargo xtask demo-page`: the demo's page in a browser without a screen.
//!
//! That the service does what it should `demo --check` says. Here it is about what a person sees: the page
//! loads without an error, moves, speaks both languages, fits windows of any width, and its button for
//! blocked workers says that requests were answered meanwhile.

mod base64;
mod browser;
mod service;

use std::fs;
use std::path::Path;
use std::process::Command;

use browser::{Browser, Page};
use service::Service;

use crate::cargo::{self, Cargo};
use crate::repo;

/// Half of what the button blocks the workers for: with requests held up, most took longer than this.
const LATENCY_MAX_MS: f64 = 500.0;
const ANSWERED_MIN: f64 = 100.0;

/// A laptop's window, the one of the pictures.
const LAPTOP: (u32, u32) = (1280, 800);

/// Builds and starts the demo, and looks at its page. Or takes the `pictures` in `demo/` anew;
/// `pngquant` makes them small, if it is there.
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
    // With the page open, whose stream must not keep it.
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

/// Presses a button and waits until its result is told; returns where, as an expression.
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

/// As somebody sees it who has played with it for half a minute.
fn take_pictures(page: &mut Page, url: &str, folder: &Path) -> Result<(), String> {
    pause(page, 10)?;
    for (button, kind) in
        [("tasks", "tasks"), ("timers", "timers"), ("compute", "compute"), ("block/all", "block")]
    {
        press(page, &format!("[data-post=\"/{button}\"]"), kind)?;
        pause(page, 2)?;
    }
    for (language, name) in [("en", "screenshot.png"), ("zh", "screenshot.zh-CN.png")] {
        page.go(&format!("{url}?lang={language}"))?;
        pause(page, 2)?;
        let path = folder.join(name);
        fs::write(&path, page.picture()?).map_err(|e| format!("{}: {e}", path.display()))?;
        let shrink = ["--force", "--skip-if-larger", "--output"];
        let shrunk = Command::new("pngquant").args(shrink).args([&path, &path]).status();
        let how = if shrunk.is_ok_and(|shrunk| shrunk.success()) { "" } else { ", not compressed" };
        println!("    wrote demo/{name}{how}");
    }
    Ok(())
}

/// Lets the page go on for some seconds: the plot needs a past.
fn pause(page: &mut Page, seconds: u32) -> Result<(), String> {
    page.evaluate(&format!("window.till = Date.now() + {seconds}000"))?;
    page.wait_for("Date.now() >= window.till", "some seconds to pass")
}
