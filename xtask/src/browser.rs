//! Headless Chromium, controlled over a pair of pipes.
//!
//! The protocol is DevTools: JSON messages, each terminated by a zero byte. Chromium reads from
//! descriptor 3 and writes to descriptor 4 (`--remote-debugging-pipe`); a shell moves its standard
//! input and output there. Chromium ends when the pipes are closed.

mod base64;

use std::fs::{self, File};
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::time::{Duration, Instant};
use std::{env, thread};

use crate::json::{Json, quoted};

/// The time limit of every wait. It is generous, for machines under load.
const TIMEOUT: Duration = Duration::from_secs(60);

const NAMES: [&str; 3] = ["chromium", "chromium-browser", "google-chrome"];

const FLAGS: [&str; 12] = [
    "--headless",
    "--remote-debugging-pipe",
    // Chromium has no sandbox as root, which CI often runs as. It only loads our own page.
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-quic",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
    "--hide-scrollbars",
    "--lang=en",
];

/// The browser process and its folder. Dropping it ends the process and removes the folder.
pub struct Browser {
    process: Child,
    to: Option<ChildStdin>,
    from: Receiver<Json>,
    folder: PathBuf,
    last_id: u64,
    /// Errors and warnings on the page's console.
    errors: Vec<String>,
}

impl Browser {
    pub fn start() -> Result<Browser, String> {
        let folder = env::temp_dir().join(format!("wakeful-browser-{}", std::process::id()));
        fs::create_dir(&folder).map_err(|e| format!("cannot create {}: {e}", folder.display()))?;
        let log = File::create(folder.join("log")).map_err(|e| format!("no log: {e}"))?;
        let mut command = Command::new("sh");
        command.args(["-c", "exec \"$@\" 3<&0 4>&1 </dev/null >/dev/null", "sh", find_browser()?]);
        command.args(FLAGS).arg(format!("--user-data-dir={}", folder.join("profile").display()));
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(log);
        let mut process = command.spawn().map_err(|e| format!("no browser: {e}"))?;
        let to = process.stdin.take();
        let output = BufReader::new(process.stdout.take().expect("it is a pipe"));
        let (sender, from) = mpsc::channel();
        thread::spawn(move || {
            for message in output.split(0).map_while(Result::ok) {
                let message = String::from_utf8_lossy(&message);
                if !Json::parse(&message).is_ok_and(|message| sender.send(message).is_ok()) {
                    return;
                }
            }
        });
        Ok(Browser { process, to, from, folder, last_id: 0, errors: Vec::new() })
    }

    /// Opens an empty page.
    pub fn open(&mut self) -> Result<Page<'_>, String> {
        let target = self.call("", "Target.createTarget", "{\"url\":\"about:blank\"}")?;
        let target = quoted(target["targetId"].text());
        let attach = format!("{{\"targetId\":{target},\"flatten\":true}}");
        let session =
            self.call("", "Target.attachToTarget", &attach)?["sessionId"].text().to_owned();
        let mut page = Page { browser: self, session };
        for domain in ["Page.enable", "Runtime.enable", "Log.enable"] {
            page.call(domain, "{}")?;
        }
        Ok(page)
    }

    /// Calls a method and waits for its result.
    fn call(&mut self, session: &str, method: &str, params: &str) -> Result<Json, String> {
        self.last_id += 1;
        let id = self.last_id;
        let session = match session {
            "" => String::new(),
            session => format!(",\"sessionId\":{}", quoted(session)),
        };
        let message =
            format!("{{\"id\":{id},\"method\":\"{method}\",\"params\":{params}{session}}}\0");
        let to = self.to.as_mut().expect("it is open until the end");
        to.write_all(message.as_bytes()).map_err(|e| self.no_answer(&e.to_string()))?;
        let deadline = Instant::now() + TIMEOUT;
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            let message =
                self.from.recv_timeout(left).map_err(|e| self.no_answer(&e.to_string()))?;
            if message["id"].number() != Some(id.to_string().as_str()) {
                self.note(&message);
            } else if message["error"].is_null() {
                return take(message, "result");
            } else {
                return Err(format!(
                    "the browser rejects {method}: {}",
                    message["error"]["message"].text()
                ));
            }
        }
    }

    /// Records the error or warning in an event, if any.
    fn note(&mut self, event: &Json) {
        let params = &event["params"];
        let error = match event["method"].text() {
            "Runtime.exceptionThrown" => {
                let details = &params["exceptionDetails"];
                Some(details["exception"]["description"].str().unwrap_or(details["text"].text()))
            }
            "Runtime.consoleAPICalled" if matches!(params["type"].text(), "error" | "warning") => {
                params["args"].items().first().map(|arg| arg["value"].text())
            }
            "Log.entryAdded" if matches!(params["entry"]["level"].text(), "error" | "warning") => {
                Some(params["entry"]["text"].text())
            }
            _ => None,
        };
        self.errors.extend(error.map(str::to_owned));
    }

    fn no_answer(&self, why: &str) -> String {
        let log = fs::read_to_string(self.folder.join("log")).unwrap_or_default();
        format!("the browser does not answer ({why}); its log:\n{log}")
    }

    /// Closes the browser cleanly.
    pub fn close(mut self) -> Result<(), String> {
        self.call("", "Browser.close", "{}").map(drop)
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        drop(self.to.take());
        let deadline = Instant::now() + Duration::from_secs(5);
        while matches!(self.process.try_wait(), Ok(None)) && Instant::now() < deadline {
            thread::sleep(Duration::from_millis(10));
        }
        let _has_ended = self.process.kill();
        let _is_known = self.process.wait();
        let _stays_behind = fs::remove_dir_all(&self.folder);
    }
}

/// A page in the browser.
pub struct Page<'a> {
    browser: &'a mut Browser,
    session: String,
}

impl Page<'_> {
    fn call(&mut self, method: &str, params: &str) -> Result<Json, String> {
        self.browser.call(&self.session, method, params)
    }

    pub fn go(&mut self, url: &str) -> Result<(), String> {
        let answer = self.call("Page.navigate", &format!("{{\"url\":{}}}", quoted(url)))?;
        match answer["errorText"].str() {
            Some(why) => Err(format!("{url}: {why}")),
            None => self.wait_for("document.readyState === 'complete'", "the page to load"),
        }
    }

    pub fn resize(&mut self, (width, height): (u32, u32)) -> Result<(), String> {
        let size = format!(
            "{{\"width\":{width},\"height\":{height},\"deviceScaleFactor\":1,\"mobile\":false}}"
        );
        self.call("Emulation.setDeviceMetricsOverride", &size).map(drop)
    }

    /// Sets the colour scheme that the user prefers.
    pub fn prefer_scheme(&mut self, scheme: &str) -> Result<(), String> {
        let feature = format!("{{\"name\":\"prefers-color-scheme\",\"value\":\"{scheme}\"}}");
        self.call("Emulation.setEmulatedMedia", &format!("{{\"features\":[{feature}]}}")).map(drop)
    }

    /// Sets the language that the user reads.
    pub fn prefer_language(&mut self, tag: &str) -> Result<(), String> {
        let params = format!("{{\"userAgent\":\"\",\"acceptLanguage\":\"{tag}\"}}");
        self.call("Emulation.setUserAgentOverride", &params).map(drop)
    }

    /// Returns the value of an expression; a promise is awaited.
    pub fn evaluate(&mut self, expression: &str) -> Result<Json, String> {
        let params = format!(
            "{{\"expression\":{},\"returnByValue\":true,\"awaitPromise\":true}}",
            quoted(expression)
        );
        let answer = self.call("Runtime.evaluate", &params)?;
        if !answer["exceptionDetails"].is_null() {
            let why = answer["result"]["description"].text();
            return Err(format!("{expression}: {why}"));
        }
        take(take(answer, "result")?, "value")
    }

    pub fn number(&mut self, expression: &str) -> Result<f64, String> {
        let value = self.evaluate(expression)?;
        let number = value.number().and_then(|digits| digits.parse().ok());
        number.ok_or_else(|| format!("{expression} is not a number"))
    }

    /// Waits until `condition` is true.
    pub fn wait_for(&mut self, condition: &str, what: &str) -> Result<(), String> {
        let deadline = Instant::now() + TIMEOUT;
        while !self.evaluate(condition)?.is_true() {
            if Instant::now() > deadline {
                let text = self.evaluate("document.body.innerText")?;
                return Err(format!(
                    "timed out waiting for {what}; the text of the page:\n{}",
                    text.text()
                ));
            }
            thread::sleep(Duration::from_millis(50));
        }
        Ok(())
    }

    /// Fails if there was an error or a warning on the console, or a file that did not load.
    pub fn no_errors(&mut self) -> Result<(), String> {
        // Waits for a reply, so that all earlier events have been read.
        self.evaluate("0")?;
        match &self.browser.errors[..] {
            [] => {
                println!("    no messages on the console");
                Ok(())
            }
            errors => Err(format!("errors on the console:\n{}", errors.join("\n"))),
        }
    }

    /// Waits for some seconds.
    pub fn pause(&mut self, seconds: u32) -> Result<(), String> {
        // In parts: an answer of the browser is waited for only so long.
        for _ in 0..seconds {
            self.evaluate("new Promise((done) => setTimeout(done, 1000))")?;
        }
        Ok(())
    }

    /// Returns the size of the heap after a collection of garbage.
    pub fn heap_bytes(&mut self) -> Result<f64, String> {
        self.call("HeapProfiler.collectGarbage", "{}")?;
        let usage = self.call("Runtime.getHeapUsage", "{}")?;
        let digits = usage["usedSize"].number().and_then(|digits| digits.parse().ok());
        digits.ok_or_else(|| "the browser does not know the size of its heap".to_owned())
    }

    /// Writes a screenshot of the window, compressed with `pngquant` if it is installed.
    pub fn save_picture(&mut self, path: &Path) -> Result<(), String> {
        fs::write(path, self.picture()?).map_err(|e| format!("{}: {e}", path.display()))?;
        let shrink = ["--force", "--skip-if-larger", "--output"];
        let shrunk = Command::new("pngquant").args(shrink).args([path, path]).status();
        let how = if shrunk.is_ok_and(|shrunk| shrunk.success()) { "" } else { ", not compressed" };
        println!("    wrote {}{how}", path.file_name().unwrap_or_default().to_string_lossy());
        Ok(())
    }

    /// Returns a screenshot of the window, as a PNG.
    fn picture(&mut self) -> Result<Vec<u8>, String> {
        let answer = self.call("Page.captureScreenshot", "{\"format\":\"png\"}")?;
        base64::decode(answer["data"].text())
            .ok_or_else(|| "the screenshot cannot be decoded".to_owned())
    }
}

fn take(json: Json, name: &str) -> Result<Json, String> {
    match json {
        Json::Object(mut fields) => Ok(fields.remove(name).unwrap_or(Json::Null)),
        _ => Err(format!("the browser's answer has no `{name}`")),
    }
}

fn find_browser() -> Result<&'static str, String> {
    let path = env::var_os("PATH").unwrap_or_default();
    let is_there = |name: &&str| env::split_paths(&path).any(|folder| folder.join(name).exists());
    NAMES.into_iter().find(is_there).ok_or_else(|| {
        "Chromium is not installed. On Debian and similar systems, `bash .ci/install-servers` installs it; \
         `cargo xtask ci --without-servers` skips this test"
            .to_owned()
    })
}
