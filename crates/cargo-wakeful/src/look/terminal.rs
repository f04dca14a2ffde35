//! The terminal that standard output may be.

use std::io::{self, IsTerminal};
use std::mem::MaybeUninit;

/// The size of the terminal, in characters.
#[derive(Clone, Copy)]
pub struct Size {
    pub columns: usize,
    pub lines: usize,
}

/// Returns the size of the terminal, or `None` if standard output goes elsewhere.
pub fn size() -> Option<Size> {
    if !io::stdout().is_terminal() {
        return None;
    }
    let mut size = MaybeUninit::<libc::winsize>::zeroed();
    // SAFETY: TIOCGWINSZ writes a `winsize`, for which `size` has room. If the call fails, the
    // zeroes stay, which are valid for it too.
    let size = unsafe {
        libc::ioctl(libc::STDOUT_FILENO, libc::TIOCGWINSZ, size.as_mut_ptr());
        size.assume_init()
    };
    // Some terminals do not know their size.
    let or = |number: u16, usual| if number == 0 { usual } else { usize::from(number) };
    Some(Size { columns: or(size.ws_col, 80), lines: or(size.ws_row, 24) })
}

/// Moves the cursor to the beginning, and makes the text replace what is on the screen.
pub fn over_the_screen(text: &str) -> String {
    format!("\x1b[H{}\x1b[J", text.replace('\n', "\x1b[K\n"))
}
