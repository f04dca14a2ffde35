//! Programs for situations in which Tokio's `Handle::dump` broke something.
//!
//! Each works in rounds until its standard input ends, and checks the result of each round. The test
//! asks for dumps meanwhile, and ends the input when it has seen enough of them.

use std::io::{self, Read};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

pub mod issue_6035;
pub mod issue_6051;
pub mod issue_6343;
pub mod issue_7478;
pub mod issue_8391;
pub mod issue_8434;

/// Tells a program when to stop.
#[derive(Clone)]
pub struct Rounds {
    is_over: Arc<AtomicBool>,
}

impl Rounds {
    /// Starts the thread that waits for the end of the input, and says that the program is ready.
    pub fn start() -> Rounds {
        let is_over = Arc::new(AtomicBool::new(false));
        let ended = is_over.clone();
        thread::spawn(move || {
            io::stdin().read_to_end(&mut Vec::new()).unwrap();
            ended.store(true, Ordering::SeqCst);
        });
        println!("ready");
        Rounds { is_over }
    }

    pub fn go_on(&self) -> bool {
        !self.is_over.load(Ordering::SeqCst)
    }
}
