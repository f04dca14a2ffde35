//! Servers whose clients are tasks of the same runtime. No other process needs a CPU, so the
//! workers share all of the work.

use crate::common::{compute_for, random_us};
use crate::measure::{Sample, time_turns};
use crate::os;
use crate::runtime::EchoClient;
use crate::suite::Case;
use std::ops::Range;

/// How long a client computes before a request. It varies, because with a constant time clients
/// fall into step, and chance decides which of them delay each other.
const COMPUTES_US: Range<u64> = 10..20;

pub fn cases<R: EchoClient>() -> Vec<Case> {
    vec![
        Case::new(
            "inside/echo_64c",
            "64 clients on the runtime of their server, 64 bytes there and back, per request",
            |scale| exchange::<R>(64, scale.pick(200, 20), || ()),
        ),
        Case::new(
            "inside/busy_2c",
            "2 clients on it, each of which computes for 10 to 20 us before each request",
            |scale| exchange::<R>(2, scale.pick(1_000, 100), compute),
        ),
    ]
}

fn compute() {
    compute_for(random_us(COMPUTES_US));
}

fn exchange<R: EchoClient>(clients: usize, requests: usize, before_each: fn()) -> Sample {
    let listener = os::listen().expect("loopback can be listened on");
    let server = listener.local_addr().expect("a listener has an address");
    R::run(async move {
        R::detach(R::serve_echo(listener, 1024));
        time_turns(clients * requests, || async {
            let ask = |_| R::spawn(R::ask(server, 64, requests, before_each));
            for asked in (0..clients).map(ask).collect::<Vec<_>>() {
                asked.await;
            }
        })
        .await
    })
}
