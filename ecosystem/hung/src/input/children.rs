//! A program that starts another one, which tells what it has inherited.

use tokio::process::Command;
use tokio::runtime::Runtime;

pub fn run(runtime: Runtime) {
    runtime.block_on(async {
        println!("ready");
        let tell = "grep -E '^Sig(Blk|Ign|Cgt)' /proc/self/status; ls /proc/self/fd | wc -l";
        assert!(Command::new("sh").args(["-c", tell]).status().await.unwrap().success());
        println!("done");
    });
}
