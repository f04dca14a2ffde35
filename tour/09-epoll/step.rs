//! A reactor on epoll, and an echo server on it.
//!
//! The executor is that of step 7, unchanged. New is where it sleeps: in the kernel, which wakes it
//! when a socket is ready. [`reactor`] tells tasks about sockets, [`queue`] puts the executor to
//! sleep in it, and [`net`] makes futures of system calls.
//!
//! 建立在 epoll 上的 reactor，以及跑在上面的回显服务器。执行器就是第 7 步那个，一字未改；新的是它睡
//! 在哪里：睡在内核里，套接字就绪时由内核唤醒。[`reactor`] 把套接字的消息告诉任务，[`queue`] 让执行
//! 器睡在里面，[`net`] 把系统调用变成 future。

use std::io;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::time::Duration;

use crate::block_on;
use crate::mini_tokio_two::{MiniTokio, Report, Spawner};
use crate::timeline::Timeline;

mod net;
mod queue;
mod reactor;

#[cfg(test)]
mod solutions;
#[cfg(test)]
mod tests;

use net::Watched;
use reactor::Reactor;

/// Sends back whatever comes, until no more does.
async fn echo(stream: Watched<TcpStream>) -> io::Result<()> {
    let mut buffer = [0; 1024];
    loop {
        let count = stream.read(&mut buffer).await?;
        if count == 0 {
            return Ok(());
        }
        stream.write_all(&buffer[..count]).await?;
    }
}

/// Gives each of the first `clients` connections a task.
async fn serve(
    listener: Watched<TcpListener>,
    clients: usize,
    spawner: Spawner,
    timeline: Timeline,
) -> io::Result<()> {
    for number in 1..=clients {
        let stream = listener.accept().await?;
        spawn(&spawner, &format!("echo {number}"), &timeline, echo(stream));
    }
    Ok(())
}

/// Sends a word, and returns what comes back.
async fn ask(stream: &Watched<TcpStream>, word: &str) -> io::Result<String> {
    stream.write_all(word.as_bytes()).await?;
    let mut answer = vec![0; word.len()];
    let mut filled = 0;
    while filled < answer.len() {
        match stream.read(&mut answer[filled..]).await? {
            0 => return Err(io::ErrorKind::UnexpectedEof.into()),
            count => filled += count,
        }
    }
    Ok(String::from_utf8_lossy(&answer).into_owned())
}

/// Says two words to the echo, and writes down what it says.
async fn talk(
    name: String,
    server: SocketAddr,
    reactor: Arc<Reactor>,
    timeline: Timeline,
) -> io::Result<()> {
    let stream = Watched::connect(server, &reactor)?;
    for word in ["hello", "goodbye"] {
        let answer = ask(&stream, word).await?;
        timeline.note(&name, format!("hears {answer:?}"));
    }
    Ok(())
}

/// A task here cannot return an error to its spawner, so the error goes on the record.
fn spawn(
    spawner: &Spawner,
    name: &str,
    timeline: &Timeline,
    work: impl Future<Output = io::Result<()>> + Send + 'static,
) {
    let (who, timeline) = (name.to_owned(), timeline.clone());
    spawner.spawn(name, async move {
        if let Err(error) = work.await {
            timeline.note(&who, format!("failed: {error}"));
        }
    });
}

/// An executor that sleeps in a reactor.
fn mini_tokio(timeline: &Timeline) -> (MiniTokio, Arc<Reactor>) {
    let reactor = Arc::new(Reactor::new(timeline).expect("there is a descriptor for epoll"));
    (MiniTokio::new(timeline, queue::sleeping_in(&reactor)), reactor)
}

/// A server and its clients, all on one thread.
fn echo_over_loopback(timeline: &Timeline, clients: usize) -> Report {
    let (mini_tokio, reactor) = mini_tokio(timeline);
    let spawner = mini_tokio.spawner();
    let listener = Watched::bind("127.0.0.1:0", &reactor).expect("there is a port");
    let server = listener.address().expect("a listener has an address");
    let serving = serve(listener, clients, mini_tokio.spawner(), timeline.clone());
    spawn(&spawner, "server", timeline, serving);
    for number in 1..=clients {
        let name = format!("client {number}");
        let talking = talk(name.clone(), server, reactor.clone(), timeline.clone());
        spawn(&spawner, &name, timeline, talking);
    }
    drop(spawner);
    mini_tokio.run()
}

/// A task that is woken by another thread, while this one is deep in the kernel.
fn woken_from_elsewhere(timeline: &Timeline) -> Report {
    let clock = block_on::Reactor::start(timeline).expect("the clock's thread starts");
    let (mini_tokio, _reactor) = mini_tokio(timeline);
    let timer = clock.handle().timer(Duration::from_millis(5));
    mini_tokio.spawner().spawn("sleeper", async { timer.await.expect("the clock is there") });
    mini_tokio.run()
}

/// Runs the step.
pub fn run(timeline: &Timeline) {
    timeline.scene("An echo server and two clients, on one thread");
    echo_over_loopback(timeline, 2);
    timeline.scene("Woken by another thread");
    woken_from_elsewhere(timeline);
}
