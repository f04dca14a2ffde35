//! The load generator [wrk](https://github.com/wg/wrk), if it is installed.

use crate::child::run_within;
use crate::os;
use std::net::SocketAddr;
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

/// wrk runs for whole seconds.
const SPAN_SECONDS: u64 = 1;

const LIMIT: Duration = Duration::from_secs(SPAN_SECONDS + 10);

#[derive(Debug, PartialEq)]
pub struct WrkReport {
    pub requests: f64,
    pub requests_per_second: f64,
    pub p50_us: f64,
    pub p99_us: f64,
}

pub fn is_installed() -> bool {
    let mut asks_for_version = Command::new("wrk");
    asks_for_version.arg("-v").stdout(Stdio::null()).stderr(Stdio::null());
    asks_for_version.status().is_ok()
}

/// Requests the front page of `server` repeatedly, from one thread, which is pinned to the last CPU
/// like our own load generator.
pub fn run(server: SocketAddr, connections: usize) -> Result<WrkReport, String> {
    let mut command = Command::new("wrk");
    command.args(["--threads", "1", "--latency"]);
    command.args(["--connections", &connections.to_string()]);
    command.args(["--duration", &format!("{SPAN_SECONDS}s")]);
    command.arg(format!("http://{server}/"));
    // A process starts on the CPUs of the thread that starts it.
    let starter = thread::spawn(|| {
        os::pin_to_cpu(os::cpus() - 1);
        run_within(command, LIMIT)
    });
    let output = starter.join().expect("the thread that starts wrk does not panic")?;
    parse(&output).ok_or_else(|| format!("cannot parse the output of wrk: {output}"))
}

fn parse(output: &str) -> Option<WrkReport> {
    let words = |mark: &str| {
        let line = output.lines().find(|line| line.contains(mark))?;
        Some(line.split_whitespace().collect::<Vec<_>>())
    };
    Some(WrkReport {
        requests: words("requests in")?.first()?.parse().ok()?,
        requests_per_second: words("Requests/sec:")?.get(1)?.parse().ok()?,
        p50_us: micros(words(" 50%")?.get(1)?)?,
        p99_us: micros(words(" 99%")?.get(1)?)?,
    })
}

/// Parses a duration into microseconds: `1.50ms` is 1500.
fn micros(text: &str) -> Option<f64> {
    let unit_at = text.find(|c: char| c.is_ascii_alphabetic())?;
    let micros_per_unit = match &text[unit_at..] {
        "us" => 1.0,
        "ms" => 1e3,
        "s" => 1e6,
        _ => return None,
    };
    Some(text[..unit_at].parse::<f64>().ok()? * micros_per_unit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reports_are_read() {
        let output = "\
Running 1s test @ http://127.0.0.1:40000/
  1 threads and 64 connections
  Thread Stats   Avg      Stdev     Max   +/- Stdev
    Latency   512.66us  345.01us   9.02ms   97.13%
    Req/Sec   127.98k     3.37k  131.12k    90.91%
  Latency Distribution
     50%  463.00us
     75%  519.00us
     90%  650.00us
     99%    1.50ms
  140023 requests in 1.10s, 11.88MB read
Requests/sec: 127301.71
Transfer/sec:     10.80MB
";
        let expected = WrkReport {
            requests: 140_023.0,
            requests_per_second: 127_301.71,
            p50_us: 463.0,
            p99_us: 1500.0,
        };
        assert_eq!(parse(output), Some(expected));
        assert_eq!(parse("unable to connect"), None);
    }
}
