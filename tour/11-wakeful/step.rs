//! The same program, on Wakeful.
//!
//! What the steps built by hand comes from the runtime here: executor, timers, sockets, `Notify`.
//! The program on top of them reads as before, only shorter. [`PIECES`] says where in Wakeful's
//! code each part of the tour has its counterpart.
//!
//! 同一个程序，跑在 Wakeful 上。前几步亲手做的执行器、定时器、套接字和 `Notify`，这里都由运行时提
//! 供。上面的程序读起来和以前一样，只是更短。导览的每个零件在 Wakeful 的代码里对应着什么，见
//! [`PIECES`]。

use std::io;
use std::net::SocketAddr;
use std::panic;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, mpsc};
use std::time::Duration;

use wakeful::io::{AsyncReadExt, AsyncWriteExt};
use wakeful::net::{TcpListener, TcpStream};
use wakeful::runtime::{Builder, Runtime};
use wakeful::sync::Notify;
use wakeful::task::JoinHandle;
use wakeful::time::sleep;

use crate::timeline::Timeline;

mod on_record;
mod pieces;

#[cfg(test)]
mod tests;

use pieces::PIECES;

const CLIENTS: usize = 2;

/// Sends back whatever comes. But for the types, this is step 9's to the letter.
async fn echo(mut stream: TcpStream) -> io::Result<()> {
    let mut buffer = [0; 1024];
    loop {
        let count = stream.read(&mut buffer).await?;
        if count == 0 {
            return Ok(());
        }
        stream.write_all(&buffer[..count]).await?;
    }
}

/// Gives each client a task, and waits for them all. A task can return an error now: to the code
/// that awaits its handle.
async fn serve(listener: TcpListener, timeline: Timeline) -> io::Result<()> {
    let mut tasks = Vec::new();
    for number in 1..=CLIENTS {
        let (stream, _) = listener.accept().await?;
        tasks.push(spawn(&timeline, &format!("echo {number}"), echo(stream)));
    }
    for task in tasks {
        task.await??;
    }
    Ok(())
}

/// Says hello, waits a little, and says goodbye. The last to leave tells so.
async fn talk(
    name: String,
    server: SocketAddr,
    still_here: Arc<AtomicUsize>,
    all_gone: Arc<Notify>,
    timeline: Timeline,
) -> io::Result<()> {
    let mut stream = TcpStream::connect(server).await?;
    for word in ["hello", "goodbye"] {
        stream.write_all(word.as_bytes()).await?;
        let mut answer = vec![0; word.len()];
        stream.read_exact(&mut answer).await?;
        timeline.note(&name, format!("hears {:?}", String::from_utf8_lossy(&answer)));
        sleep(Duration::from_millis(5)).await;
    }
    if still_here.fetch_sub(1, Ordering::AcqRel) == 1 {
        all_gone.notify_one();
    }
    Ok(())
}

/// An echo server, its clients, and a task that waits until they have gone.
async fn program(timeline: Timeline) -> io::Result<()> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let server = listener.local_addr()?;
    let mut tasks = vec![spawn(&timeline, "server", serve(listener, timeline.clone()))];

    let still_here = Arc::new(AtomicUsize::new(CLIENTS));
    let all_gone = Arc::new(Notify::new());
    for number in 1..=CLIENTS {
        let name = format!("client {number}");
        let (still_here, all_gone) = (still_here.clone(), all_gone.clone());
        let talking = talk(name.clone(), server, still_here, all_gone, timeline.clone());
        tasks.push(spawn(&timeline, &name, talking));
    }

    // Safe even if they are gone already: the permit of step 10.
    all_gone.notified().await;
    timeline.note("main", "all clients have gone");
    for task in tasks {
        task.await??;
    }
    Ok(())
}

/// `wakeful::spawn`, with the task on the record.
fn spawn<F>(timeline: &Timeline, name: &str, future: F) -> JoinHandle<F::Output>
where
    F: Future<Output: std::fmt::Debug + Send> + Send + 'static,
{
    wakeful::spawn(on_record::on_record(timeline, name, future))
}

/// A runtime with `count` workers, whose threads are numbered in the order of their start.
fn workers(count: usize) -> Runtime {
    let started = AtomicUsize::new(0);
    let name = move || format!("worker {}", started.fetch_add(1, Ordering::Relaxed) + 1);
    let mut builder = Builder::new_multi_thread();
    builder.worker_threads(count).thread_name_fn(name).enable_all();
    builder.build().expect("the runtime starts")
}

/// A runtime that has no thread but that which calls `block_on`.
fn this_thread() -> Runtime {
    Builder::new_current_thread().enable_all().build().expect("the runtime starts")
}

/// Runs the program to its end.
fn run_program(timeline: &Timeline, runtime: &Runtime) {
    let result = runtime.block_on(timeline.trace("main", program(timeline.clone())));
    result.expect("sockets work on the loopback device");
}

/// A panic ends its task, and is handed to the code that awaits it.
fn a_panic(timeline: &Timeline, runtime: &Runtime) {
    // The same as `panic!`, but for the message that would be printed.
    let clumsy = async { panic::resume_unwind(Box::new("dropped the cup")) };
    let clumsy = runtime.spawn(on_record::on_record::<_, ()>(timeline, "clumsy", clumsy));
    let error = runtime.block_on(clumsy).expect_err("it panics");
    let text = error.into_panic().downcast::<&str>().expect("the panic has a text");
    timeline.panicked("clumsy", *text);
}

/// One worker, and a task that blocks it until another task has run. No program should do that.
/// When one does, it hangs on most runtimes.
fn a_task_that_blocks(timeline: &Timeline) {
    let runtime = workers(1);
    let (blocks, is_blocked) = mpsc::channel();
    let (done, is_done) = mpsc::channel();
    let record = timeline.clone();
    let rude = runtime.spawn(on_record::on_record(timeline, "rude", async move {
        record.note("rude", "blocks the only worker");
        blocks.send(()).expect("the thread that starts us waits for it");
        is_done.recv().expect("polite sends when it is done");
    }));
    is_blocked.recv().expect("rude begins");
    let polite = runtime.spawn(on_record::on_record(timeline, "polite", async move {
        sleep(Duration::from_millis(5)).await;
        done.send(()).expect("rude waits for it");
    }));
    runtime.block_on(async {
        polite.await.expect("it does not panic");
        rude.await.expect("it does not panic");
    });
}

/// Runs the step.
pub fn run(timeline: &Timeline) {
    timeline.scene("On two workers");
    run_program(timeline, &workers(2));
    timeline.scene("On one thread");
    run_program(timeline, &this_thread());
    timeline.scene("A task that panics");
    a_panic(timeline, &workers(1));
    timeline.scene("A task that blocks the only worker");
    a_task_that_blocks(timeline);
    timeline.scene("Where each piece of the tour lives in Wakeful");
    for piece in PIECES {
        let text = format!("{:<21} {:<20} {}", piece.here, piece.there, piece.file);
        timeline.note(&format!("step {}", piece.step), text);
    }
}
