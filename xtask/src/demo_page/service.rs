//! The demo service, which runs while its page is tested.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

const TIMEOUT: Duration = Duration::from_secs(10);

/// The process of the demo, which is killed when this is dropped.
pub struct Service {
    pub url: String,
    process: Child,
}

impl Service {
    /// Starts `program` on a free port, and reads the URL that it prints.
    pub fn start(program: &Path) -> Result<Service, String> {
        let mut command = Command::new(program);
        command.args(["--port", "0"]).stdin(Stdio::null()).stdout(Stdio::piped());
        let process = command.spawn().map_err(|e| format!("{}: {e}", program.display()))?;
        let mut service = Service { url: String::new(), process };
        let mut line = String::new();
        let stdout = service.process.stdout.as_mut().expect("it is a pipe");
        BufReader::new(stdout).read_line(&mut line).map_err(|e| format!("the demo: {e}"))?;
        let url = line.split_whitespace().find(|word| word.starts_with("http://"));
        service.url =
            url.ok_or_else(|| format!("the demo printed no address: {line:?}"))?.to_owned();
        println!("    {}", line.trim_end());
        Ok(service)
    }

    /// Sends the signal of Ctrl-C. Returns an error if the service does not end in time or fails.
    pub fn interrupt(mut self) -> Result<(), String> {
        let pid = self.process.id().to_string();
        let asked = Command::new("kill").args(["-INT", &pid]).status();
        asked.map_err(|e| format!("kill: {e}"))?;
        let deadline = Instant::now() + TIMEOUT;
        while Instant::now() < deadline {
            match self.process.try_wait().map_err(|e| e.to_string())? {
                Some(status) if status.success() => return Ok(()),
                Some(status) => return Err(format!("the demo ended with {status} at Ctrl-C")),
                None => thread::sleep(Duration::from_millis(10)),
            }
        }
        Err(format!("the demo still runs {TIMEOUT:?} after Ctrl-C"))
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        let _has_ended = self.process.kill();
        let _is_known = self.process.wait();
    }
}
