//! Signals and child processes.

use super::{At, Site, same};
use std::process::Stdio;
use wakeful::process::Command;
use wakeful::signal::unix::{SignalKind, signal as listen};

pub fn signal(site: &Site<'_>) -> Result<(), String> {
    site.in_a_task(async {
        let mut signals = listen(SignalKind::user_defined1()).at("signal")?;
        for _ in 0..3 {
            // SAFETY: takes numbers. A handler for this signal is installed, so it does not end the
            // process.
            if unsafe { libc::kill(libc::getpid(), libc::SIGUSR1) } != 0 {
                return Err(std::io::Error::last_os_error()).at("kill");
            }
            same("signal", signals.recv().await, Some(()))?;
        }
        Ok(())
    })
}

pub fn process(site: &Site<'_>) -> Result<(), String> {
    site.in_a_task(async {
        let status = Command::new("true").status().await.at("Command::status")?;
        if !status.success() {
            return Err(format!("`true` ended with {status}"));
        }
        let mut cat = Command::new("cat");
        let echo = cat.arg("/proc/self/comm").stdin(Stdio::null()).output();
        let output = echo.await.at("Command::output")?;
        same("output", output.stdout.as_slice(), b"cat\n")?;
        let mut child =
            Command::new("sleep").arg("5").stdout(Stdio::null()).spawn().at("Command::spawn")?;
        child.kill().await.at("kill")
    })
}
