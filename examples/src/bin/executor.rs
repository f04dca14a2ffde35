//! An executor of your own, on the parts that do not need the runtime's scheduler.
//!
//! ```text
//! cargo run -p examples --bin executor
//! ```
//!
//! Channels, locks and the traits of `io` work under any executor. Timers and sockets also need a
//! *driver*, which tells a waker when time is up or data is there. Here a small runtime in the
//! background is that driver, and the tasks run on an executor of 60 lines: a queue, and a fixed
//! number of threads that poll what is in it. A program does this if it must decide itself which
//! task runs next: by priority, by tenant, or on the threads of a game or a user interface.

use std::collections::VecDeque;
use std::future::Future;
use std::io;
use std::pin::Pin;
use std::sync::{Arc, Condvar, Mutex};
use std::task::{Context, Poll, Wake, Waker};
use std::thread;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::{Builder, Handle};
use tokio::sync::{mpsc, oneshot};
use tokio::time::sleep;

type BoxFuture = Pin<Box<dyn Future<Output = ()> + Send>>;

/// A task: its future until it has ended, and the executor to return to.
struct Task {
    future: Mutex<Option<BoxFuture>>,
    executor: Arc<Executor>,
}

/// Queues the task. This is all that a waker has to do; a timer, a socket or a channel calls it.
impl Wake for Task {
    fn wake(self: Arc<Task>) {
        let executor = self.executor.clone();
        // A task that is woken twice is in the queue twice. Its second poll finds nothing new,
        // which the contract of `Future` allows.
        executor.queue.lock().unwrap().push_back(self);
        executor.has_work.notify_one();
    }
}

/// The queue of tasks that can go on.
struct Executor {
    queue: Mutex<VecDeque<Arc<Task>>>,
    has_work: Condvar,
    /// The runtime whose driver serves timers and sockets.
    driver: Handle,
}

impl Executor {
    fn start(threads: usize, driver: Handle) -> Arc<Executor> {
        let (queue, has_work) = (Mutex::default(), Condvar::new());
        let executor = Arc::new(Executor { queue, has_work, driver });
        for number in 0..threads {
            let executor = executor.clone();
            let name = format!("my-executor-{number}");
            thread::Builder::new().name(name).spawn(move || executor.run()).unwrap();
        }
        executor
    }

    /// Starts a task, and returns where its result will be.
    fn spawn<T: Send + 'static>(
        self: &Arc<Executor>,
        future: impl Future<Output = T> + Send + 'static,
    ) -> oneshot::Receiver<T> {
        let (sender, result) = oneshot::channel();
        let future: BoxFuture = Box::pin(async move {
            let _ = sender.send(future.await); // The receiver may be gone.
        });
        Arc::new(Task { future: Mutex::new(Some(future)), executor: self.clone() }).wake();
        result
    }

    /// Polls tasks until the process ends.
    fn run(&self) {
        // Sockets and timers find their driver by this guard. Without it they would panic: "there
        // is no reactor running".
        let _guard = self.driver.enter();
        loop {
            let mut queue = self.queue.lock().unwrap();
            // To schedule by another rule, choose another task here.
            let task = loop {
                match queue.pop_front() {
                    Some(task) => break task,
                    None => queue = self.has_work.wait(queue).unwrap(),
                }
            };
            drop(queue); // Or no other thread could wake or take a task.
            let waker = Waker::from(task.clone());
            // The lock also keeps two threads from polling the same task.
            let mut slot = task.future.lock().unwrap();
            if let Some(future) = slot.as_mut() {
                if future.as_mut().poll(&mut Context::from_waker(&waker)) == Poll::Ready(()) {
                    *slot = None; // It must not be polled again.
                }
            }
        }
    }
}

fn main() -> io::Result<()> {
    // The driver of a current-thread runtime works inside `block_on`, while `main` waits below.
    let runtime = Builder::new_current_thread().enable_all().build()?;
    let executor = Executor::start(2, runtime.handle().clone());

    let slept = executor.spawn(async {
        sleep(Duration::from_millis(50)).await;
        thread::current().name().unwrap_or("?").to_owned()
    });
    let echoed = executor.spawn(echo());
    let (sender, mut receiver) = mpsc::channel(1);
    let summed = executor.spawn(async move {
        let mut sum = 0;
        while let Some(number) = receiver.recv().await {
            sum += number;
        }
        sum
    });
    executor.spawn(async move {
        for number in 1..=1000 {
            sender.send(number).await.unwrap(); // Waits whenever the channel is full.
        }
    });

    runtime.block_on(async {
        println!("a timer on {}", slept.await.unwrap());
        println!("a socket says {:?}", echoed.await.unwrap()?);
        println!("a channel carried {}", summed.await.unwrap());
        Ok(())
    })
}

/// Sends itself a greeting over TCP.
async fn echo() -> io::Result<String> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let mut client = TcpStream::connect(listener.local_addr()?).await?;
    let (mut server, _) = listener.accept().await?;
    server.write_all(b"hello").await?;
    drop(server);
    let mut text = String::new();
    client.read_to_string(&mut text).await?;
    Ok(text)
}
