//! `cargo xtask console-page`: tests the page of `cargo wakeful console` in a headless browser.
//!
//! The programs that the page shows are `crowd`, with 100,000 live tasks of which two hang, and
//! `service`, a small one, both of `ecosystem/hung`. Tested is what users see: how soon there is a
//! table, how soon it is sorted and filtered, the verdict on top, every view in both languages, that
//! the page stays small, and that it says when the program has ended. That other pages are refused
//! is tested here with the browser's own requests, and in `cargo-wakeful/tests/look.rs` without one.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use crate::browser::{Browser, Page};
use crate::cargo::{self, Cargo};
use crate::repo;

/// The limits, in milliseconds.
const FIRST_TABLE_MAX_MS: f64 = 1_000.0;
const CHANGE_MAX_MS: f64 = 200.0;

/// The limit on rows in the page.
const ROWS_MAX: f64 = 500.0;

const TASKS: f64 = 100_000.0;

/// By how much the page's heap may grow while it shows the program for a minute.
const HEAP_GROWTH_MAX: f64 = 0.5;

/// The size of a laptop's window, which the pictures have.
const LAPTOP: (u32, u32) = (1280, 860);

const VIEWS: [&str; 8] =
    ["overview", "tasks", "graph", "objects", "runtimes", "stalls", "profile", "dump"];

/// Builds the programs and tests the page. With `pictures`, takes the pictures of the guide again
/// instead.
pub fn run(pictures: bool) -> Result<(), String> {
    let root = repo::root();
    Cargo::new(&root, "build --release -p hung -p cargo-wakeful").run()?;
    let programs = Programs::new(&cargo::target_dir(&root).join("release"))?;
    let mut browser = Browser::start()?;
    let mut page = browser.open()?;
    page.resize(LAPTOP)?;
    if pictures {
        take_pictures(&mut page, &programs, &root.join("docs"))?;
    } else {
        let shown = programs.show("crowd")?;
        check_speed(&mut page, &shown.url)?;
        check_verdict(&mut page)?;
        check_views(&mut page)?;
        check_languages(&mut page, &shown.url)?;
        check_layout(&mut page)?;
        check_past(&mut page)?;
        check_heap(&mut page)?;
        page.no_errors()?;
        check_strangers(&mut page, &shown.url)?;
        check_end(&mut page, shown)?;
    }
    browser.close()
}

/// The programs that were built, and the folder of their sockets.
struct Programs {
    built: PathBuf,
    folder: PathBuf,
}

/// A program, and the console that shows it. Both end when this is dropped.
struct Shown {
    url: String,
    program: Running,
    _console: Running,
}

/// A process that is ended when this is dropped.
struct Running(Child);

impl Running {
    /// Starts a process, and reads its output until a line is the one that `find` looks for.
    fn start(
        command: &mut Command,
        find: impl Fn(&str) -> Option<String>,
    ) -> Result<(Running, String), String> {
        let command = command.stdin(Stdio::null()).stdout(Stdio::piped());
        let mut process = command.spawn().map_err(|e| format!("{command:?}: {e}"))?;
        let lines = BufReader::new(process.stdout.take().expect("it is a pipe")).lines();
        let running = Running(process);
        let found = lines.map_while(Result::ok).find_map(|line| find(&line));
        let found = found.ok_or_else(|| format!("{command:?} ended too early"))?;
        Ok((running, found))
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _has_ended = self.0.kill();
        let _is_known = self.0.wait();
    }
}

impl Programs {
    fn new(built: &Path) -> Result<Programs, String> {
        let folder = std::env::temp_dir().join(format!("wakeful-page-{}", std::process::id()));
        fs::create_dir(&folder).map_err(|e| format!("{}: {e}", folder.display()))?;
        Ok(Programs { built: built.to_owned(), folder })
    }

    /// Starts a program of `ecosystem/hung`, and a console for it.
    fn show(&self, name: &str) -> Result<Shown, String> {
        let mut hung = Command::new(self.built.join("hung"));
        hung.args([name, "--flavor", "mt"]).current_dir(repo::root());
        hung.env("WAKEFUL_CONSOLE", "watch").env("XDG_RUNTIME_DIR", &self.folder);
        let (program, _) = Running::start(&mut hung, |line| (line == "ready").then(String::new))?;
        let mut tool = Command::new(self.built.join("cargo-wakeful"));
        tool.args(["wakeful", "console", "--no-open", &program.0.id().to_string()]);
        tool.env("XDG_RUNTIME_DIR", &self.folder);
        let url = |line: &str| line.trim().starts_with("http://").then(|| line.trim().to_owned());
        let (console, url) = Running::start(&mut tool, url)?;
        Ok(Shown { url, program, _console: console })
    }
}

impl Drop for Programs {
    fn drop(&mut self) {
        let _stays_behind = fs::remove_dir_all(&self.folder);
    }
}

fn check_speed(page: &mut Page, url: &str) -> Result<(), String> {
    page.go(&format!("{url}?lang=en#tasks"))?;
    page.wait_for("document.querySelector('#rows tbody tr') !== null", "the table")?;
    let first = page.number("performance.now()")?;
    let matching = "+document.querySelector('#rows').dataset.matching";
    if page.number(matching)? < TASKS {
        return Err(format!("the table is of fewer than {TASKS} tasks"));
    }
    let mut seen = vec![("first table", first, FIRST_TABLE_MAX_MS)];
    // The first look for hangs takes a third of a second.
    page.wait_for("!document.querySelector('#verdicts').hidden", "the verdict")?;
    for (what, act) in [
        ("sort by place", "document.querySelector('[data-sort=site]').click()"),
        ("sort by time", "document.querySelector('[data-sort=unchanged_us]').click()"),
        ("filter", "type('semaphore')"),
        ("filter for nothing", "type('no such text')"),
        ("no filter", "type('')"),
        ("state", "document.querySelector('[name=state][value=queued]').click()"),
        ("all states", "document.querySelector('[name=state][value=\"\"]').click()"),
        ("next page", "document.querySelector('[data-key=next]').click()"),
        ("groups", "document.querySelector('#groups').click()"),
        ("no groups", "document.querySelector('#groups').click()"),
    ] {
        let took = page.number(&format!(
            "new Promise((done) => {{
                const type = (text) => {{
                    const filter = document.querySelector('#filter');
                    filter.value = text;
                    filter.dispatchEvent(new Event('input', {{ bubbles: true }}));
                }};
                const rows = document.querySelector('#rows');
                const before = rows.dataset.request;
                const watch = new MutationObserver(() => {{
                    if (rows.dataset.request === before) return;
                    watch.disconnect();
                    done(performance.now() - begun);
                }});
                watch.observe(rows, {{ attributes: true, childList: true, subtree: true }});
                const begun = performance.now();
                {act};
            }})"
        ))?;
        seen.push((what, took, CHANGE_MAX_MS));
    }
    let rows = page.number("document.querySelectorAll('tr').length")?;
    for (what, took, most) in &seen {
        println!("    {what}: {took:.0} ms, at most {most} ms");
    }
    println!("    {rows} rows in the page, at most {ROWS_MAX}");
    match seen.iter().find(|(_, took, most)| took > most) {
        Some((what, ..)) => Err(format!("with {TASKS} tasks, `{what}` took too long")),
        None if rows > ROWS_MAX => Err("too many rows in the page".into()),
        None => Ok(()),
    }
}

fn check_verdict(page: &mut Page) -> Result<(), String> {
    for view in VIEWS {
        page.evaluate(&format!("location.hash = '{view}'"))?;
        page.wait_for(
            "document.querySelector('#verdicts .likely strong')?.textContent === 'deadlock'",
            &format!("the verdict above view {view}"),
        )?;
    }
    println!("    the deadlock is on top of every view");
    Ok(())
}

fn check_views(page: &mut Page) -> Result<(), String> {
    let shows = |page: &mut Page, hash: &str, condition: &str| {
        page.evaluate(&format!("location.hash = '{hash}'"))?;
        page.wait_for(condition, &format!("view {hash}: {condition}"))
    };
    shows(page, "overview", "document.querySelectorAll('.bars li').length >= 5")?;
    page.evaluate("window.before = document.getElementById('plot').toDataURL()")?;
    shows(page, "overview", "document.getElementById('plot').toDataURL() !== window.before")?;
    shows(page, "graph", "document.querySelectorAll('.edge.cycle').length === 4")?;
    shows(page, "objects", "document.querySelector('#view').textContent.includes('mutex')")?;
    shows(page, "runtimes", "document.querySelectorAll('#view table').length >= 2")?;
    shows(page, "stalls", "document.querySelector('#view').textContent.includes('shown.rs')")?;
    // The first link of the verdict leads to a task of the deadlock.
    page.evaluate("document.querySelector('#verdicts a').click()")?;
    page.wait_for("document.querySelector('#facts .state.waiting') !== null", "the task")?;
    page.evaluate("document.querySelector('#ask').click()")?;
    page.wait_for(
        "document.querySelector('.stack')?.textContent.includes('transfer')",
        "the await stack of the task",
    )?;
    shows(page, "dump", "document.querySelector('#make-dump') !== null")?;
    page.evaluate("document.querySelector('#make-dump').click()")?;
    page.wait_for(
        "document.querySelector('#dump').textContent.includes('What hangs:')",
        "the dump",
    )?;
    check_profile(page)?;
    println!("    every view shows what it should");
    check_keyboard(page)
}

fn check_profile(page: &mut Page) -> Result<(), String> {
    page.evaluate("location.hash = 'profile'")?;
    let frame = |kind: &str, name: &str| {
        format!("document.querySelector('#flame-{kind} .frame[aria-label*=\"{name}\"]')")
    };
    // Busy by spawn site, and waiting by the function that awaits.
    for (kind, name) in [("busy", "shown.rs:"), ("waiting", "shown::session")] {
        let is_drawn = format!("{} !== null", frame(kind, name));
        page.wait_for(&is_drawn, &format!("{name} in the flame graph of {kind} time"))?;
    }
    page.evaluate(&format!(
        "{}.dispatchEvent(new MouseEvent('click', {{ bubbles: true }}))",
        frame("waiting", "shown::session")
    ))?;
    let width = format!(
        "+{}.querySelector('rect').getAttribute('width')",
        frame("waiting", "shown::session")
    );
    let is_zoomed = format!(
        "{width} >= document.querySelector('#flame-waiting svg').getAttribute('width') - 1 && \
         document.querySelector('#flame-waiting-says').textContent.includes('session')"
    );
    page.wait_for(&is_zoomed, "the frame at full width, and its text")?;
    for (key, way) in [("ArrowUp", "up"), ("ArrowDown", "down")] {
        page.evaluate(&format!(
            "document.activeElement.dispatchEvent(new KeyboardEvent('keydown', \
             {{ key: '{key}', bubbles: true, cancelable: true }}))"
        ))?;
        let depth = if key == "ArrowUp" { 0 } else { 1 };
        page.wait_for(
            &format!("document.activeElement.dataset.depth === '{depth}'"),
            &format!("the focus to move {way}"),
        )?;
    }
    Ok(())
}

fn check_keyboard(page: &mut Page) -> Result<(), String> {
    let press = |page: &mut Page, key: &str| {
        page.evaluate(&format!(
            "document.activeElement.dispatchEvent(new KeyboardEvent('keydown', \
             {{ key: '{key}', bubbles: true, cancelable: true }}))"
        ))
    };
    for (key, view) in [("1", "overview"), ("3", "graph"), ("2", "tasks")] {
        press(page, key)?;
        let shown = format!("document.documentElement.dataset.view === '{view}'");
        page.wait_for(&shown, &format!("key {key} to show {view}"))?;
    }
    press(page, "/")?;
    page.wait_for("document.activeElement.id === 'filter'", "the filter to have the focus")?;
    press(page, "Escape")?;
    page.wait_for("document.activeElement.id !== 'filter'", "the filter to lose the focus")?;
    println!("    the keyboard works");
    Ok(())
}

fn check_languages(page: &mut Page, url: &str) -> Result<(), String> {
    let same = "import('./text.js').then(({ languages: { en, zh } }) => {
        const names = (of) => JSON.stringify(of, (_, value) => typeof value === 'object' ? value : typeof value);
        const sorted = (of) => Object.keys(of).sort().map((key) =>
            typeof of[key] === 'object' ? [key, sorted(of[key])] : [key, typeof of[key]]);
        return names(sorted(en)) === names(sorted(zh));
    })";
    page.wait_for(same, "the same texts in both languages")?;
    for (language, word) in [("zh-CN", "等待图"), ("en", "Wait graph")] {
        page.evaluate("document.getElementById('language').click()")?;
        page.wait_for(
            &format!(
                "document.documentElement.lang === '{language}' && \
                 document.querySelector('#views').textContent.includes('{word}')"
            ),
            &format!("the texts in {language}"),
        )?;
        for view in VIEWS {
            page.evaluate(&format!("location.hash = '{view}'"))?;
            page.wait_for(
                &format!(
                    "document.documentElement.dataset.view === '{view}' && \
                     !/undefined|NaN|\\[object/.test(document.body.innerText)"
                ),
                &format!("texts without gaps in view {view} in {language}"),
            )?;
        }
    }
    page.evaluate("localStorage.clear()")?;
    for (reads, language) in [("zh-TW", "zh-CN"), ("de", "en")] {
        page.prefer_language(reads)?;
        page.go(url)?;
        let chosen = format!("document.documentElement.lang === '{language}'");
        page.wait_for(&chosen, &format!("the language {language} for readers of {reads}"))?;
    }
    println!("    both languages work, and the browser's is the default");
    Ok(())
}

fn check_layout(page: &mut Page) -> Result<(), String> {
    for width in [1920, 1280, 1024, 768, 390] {
        page.resize((width, 800))?;
        for view in VIEWS {
            page.evaluate(&format!("location.hash = '{view}'"))?;
            page.wait_for(
                &format!(
                    "innerWidth === {width} && document.documentElement.scrollWidth <= {width}"
                ),
                &format!("view {view} without a horizontal scroll bar at {width} pixels"),
            )?;
        }
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

fn check_past(page: &mut Page) -> Result<(), String> {
    page.wait_for("!document.getElementById('pause').disabled", "something to pause")?;
    page.evaluate("location.hash = 'overview'")?;
    page.evaluate("document.getElementById('pause').click()")?;
    page.wait_for("document.querySelector('#state.paused') !== null", "the pause")?;
    page.evaluate(
        "{ const back = document.getElementById('back'); back.value = -3; \
         back.dispatchEvent(new Event('input')); }",
    )?;
    page.wait_for(
        "document.getElementById('back-says').textContent === '3 s ago'",
        "the view of three seconds ago",
    )?;
    page.evaluate("document.getElementById('pause').click()")?;
    page.wait_for("document.querySelector('#state.live') !== null", "the live view")?;
    println!("    the page pauses and looks back");
    Ok(())
}

/// Shows the tasks for more than a minute, so that the page has all that it keeps.
fn check_heap(page: &mut Page) -> Result<(), String> {
    page.evaluate("location.hash = 'tasks'")?;
    page.pause(65)?;
    let before = page.heap_bytes()?;
    page.pause(60)?;
    let growth = page.heap_bytes()? / before - 1.0;
    println!("    after a minute more, the heap is {:.0} % larger", growth * 100.0);
    if growth > HEAP_GROWTH_MAX { Err("the page's heap grows".into()) } else { Ok(()) }
}

/// The page of another origin: `localhost` instead of `127.0.0.1`.
fn check_strangers(page: &mut Page, url: &str) -> Result<(), String> {
    let other = url.replace("127.0.0.1", "localhost");
    page.go(&other)?;
    let status = |of: &str| format!("fetch('{of}').then((it) => it.status, () => 'refused')");
    let port = url.split(':').nth(2).and_then(|rest| rest.split('/').next()).unwrap_or_default();
    let zeros = "0".repeat(32);
    for path in [format!("/{zeros}/"), "/".to_owned(), format!("/{zeros}/program")] {
        let answer = page.number(&status(&path))?;
        if answer != 403.0 {
            return Err(format!("{path} is answered with {answer} instead of 403"));
        }
    }
    // The content policy of the page does not let it ask another origin in the first place.
    let foreign = status(&format!("http://127.0.0.1:{port}/"));
    if page.evaluate(&foreign)?.text() != "refused" {
        return Err("a page of another origin may ask the console".into());
    }
    println!("    a wrong token is answered with 403, and another origin is refused");
    Ok(())
}

fn check_end(page: &mut Page, shown: Shown) -> Result<(), String> {
    page.go(&shown.url)?;
    page.wait_for("document.documentElement.dataset.state === 'live'", "the page to be live")?;
    drop(shown.program);
    page.wait_for(
        "document.documentElement.dataset.state === 'ended'",
        "the page to notice the end",
    )?;
    println!("    the page says when the program has ended");
    Ok(())
}

/// Takes the picture of the guide, of a small program, after watching it for a minute.
fn take_pictures(page: &mut Page, programs: &Programs, folder: &Path) -> Result<(), String> {
    let shown = programs.show("service")?;
    page.go(&format!("{}?lang=en", shown.url))?;
    page.pause(62)?;
    // Where this program was built is of no interest.
    page.evaluate(
        "document.getElementById('lead').textContent = 'process 4711 · /srv/bin/service'",
    )?;
    page.save_picture(&folder.join("console.png"))?;
    Ok(())
}
