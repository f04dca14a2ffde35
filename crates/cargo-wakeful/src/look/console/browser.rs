//! Starts the user's browser.

use std::env;
use std::process::{Command, Stdio};
use std::thread;

/// Opens the page if there is a desktop. The address is printed anyway, so failures are ignored.
pub fn open(url: &str) {
    let is_mac = cfg!(target_os = "macos");
    let has_desktop = ["DISPLAY", "WAYLAND_DISPLAY"].iter().any(|name| {
        let value = env::var_os(name);
        value.is_some_and(|value| !value.is_empty())
    });
    if !is_mac && !has_desktop {
        return;
    }
    let mut command = Command::new(if is_mac { "open" } else { "xdg-open" });
    command.arg(url).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    if let Ok(mut opener) = command.spawn() {
        // Some openers last as long as the browser.
        thread::spawn(move || opener.wait());
    }
}
