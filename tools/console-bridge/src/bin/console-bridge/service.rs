//! The service that tokio-console is a client of.
//!
//! Each stream has its own connection to the program, and ends with it. So the program records
//! nothing while there is no client.

use std::time::Duration;

use console_api::instrument::instrument_server::Instrument;
use console_api::instrument::{
    InstrumentRequest, PauseRequest, PauseResponse, ResumeRequest, ResumeResponse, State,
    StateRequest, TaskDetailsRequest, Temporality, Update,
};
use console_api::tasks::TaskDetails;
use tokio::sync::{mpsc, watch};
use tokio::time::{Instant, sleep};
use tokio_stream::wrappers::ReceiverStream;
use tonic::{Request, Response, Status};

use crate::details::Details;
use crate::find::Process;
use crate::program::Program;
use crate::view::View;
use crate::wire::Clock;

/// The time between two looks at all tasks.
const LOOK_INTERVAL: Duration = Duration::from_secs(1);

/// The time between two looks at the task whose details are shown.
const TASK_INTERVAL: Duration = Duration::from_millis(50);

/// The time between two updates of these details.
const DETAILS_INTERVAL: Duration = Duration::from_millis(500);

/// A look may take this part of the time until the next one, in a program with many tasks.
const LOOK_SHARE: u32 = 4;

/// The number of updates that a slow client may have before it.
const UPDATES_MAX: usize = 16;

type Stream<T> = ReceiverStream<Result<T, Status>>;
type Sender<T> = mpsc::Sender<Result<T, Status>>;

/// Answers the requests of clients.
pub struct Bridge {
    process: Process,
    /// Whether the updates are paused, for all clients.
    temporality: watch::Sender<Temporality>,
}

impl Bridge {
    /// Creates the service for a process.
    pub fn new(process: Process) -> Bridge {
        Bridge { process, temporality: watch::Sender::new(Temporality::Live) }
    }
}

#[tonic::async_trait]
impl Instrument for Bridge {
    type WatchUpdatesStream = Stream<Update>;
    type WatchTaskDetailsStream = Stream<TaskDetails>;
    type WatchStateStream = Stream<State>;

    async fn watch_updates(
        &self,
        _request: Request<InstrumentRequest>,
    ) -> Result<Response<Stream<Update>>, Status> {
        let program = Program::connect(&self.process).await?;
        let temporality = self.temporality.subscribe();
        Ok(streaming(|updates| send_updates(program, temporality, updates)))
    }

    async fn watch_task_details(
        &self,
        request: Request<TaskDetailsRequest>,
    ) -> Result<Response<Stream<TaskDetails>>, Status> {
        let id = request.into_inner().id;
        let id = id.ok_or_else(|| Status::invalid_argument("the id of the task is missing"))?.id;
        let mut program = Program::connect(&self.process).await?;
        let row = program.task(id).await.map_err(|error| Status::not_found(error.message()))?;
        let details = Details::new(id, &row)?;
        Ok(streaming(|sender| send_details(program, id, details, sender)))
    }

    async fn watch_state(
        &self,
        _request: Request<StateRequest>,
    ) -> Result<Response<Stream<State>>, Status> {
        let temporality = self.temporality.subscribe();
        Ok(streaming(|states| send_states(temporality, states)))
    }

    async fn pause(
        &self,
        _request: Request<PauseRequest>,
    ) -> Result<Response<PauseResponse>, Status> {
        self.temporality.send_replace(Temporality::Paused);
        Ok(Response::new(PauseResponse {}))
    }

    async fn resume(
        &self,
        _request: Request<ResumeRequest>,
    ) -> Result<Response<ResumeResponse>, Status> {
        self.temporality.send_replace(Temporality::Live);
        Ok(Response::new(ResumeResponse {}))
    }
}

/// Runs what `send` returns for the sender of a new stream, until it ends or the client is gone. The
/// client gets its error.
fn streaming<T, F>(send: impl FnOnce(Sender<T>) -> F) -> Response<Stream<T>>
where
    T: Send + 'static,
    F: Future<Output = Result<(), Status>> + Send + 'static,
{
    let (sender, stream) = mpsc::channel(UPDATES_MAX);
    let sending = send(sender.clone());
    tokio::spawn(async move {
        let outcome = tokio::select! {
            outcome = sending => outcome,
            () = sender.closed() => Ok(()),
        };
        if let Err(error) = outcome {
            let _client_is_gone = sender.send(Err(error)).await;
        }
    });
    Response::new(ReceiverStream::new(stream))
}

/// Sends whether the updates are paused, now and whenever that changes.
async fn send_states(
    mut temporality: watch::Receiver<Temporality>,
    states: Sender<State>,
) -> Result<(), Status> {
    loop {
        let now = *temporality.borrow_and_update();
        let is_there = states.send(Ok(State { temporality: now as i32 })).await.is_ok();
        if !is_there || temporality.changed().await.is_err() {
            return Ok(());
        }
    }
}

/// Sends updates about all tasks until the client is gone.
async fn send_updates(
    mut program: Program,
    mut temporality: watch::Receiver<Temporality>,
    updates: Sender<Update>,
) -> Result<(), Status> {
    let mut view = View::new(Clock { epoch: program.epoch() });
    loop {
        if temporality.wait_for(|it| *it == Temporality::Live).await.is_err() {
            return Ok(());
        }
        let begun = Instant::now();
        let look = program.look().await?;
        let took = begun.elapsed();
        for update in view.updates(&look) {
            if updates.send(Ok(update)).await.is_err() {
                return Ok(());
            }
        }
        sleep(LOOK_INTERVAL.max(took * LOOK_SHARE)).await;
    }
}

/// Sends the histograms of a task until it ends or the client is gone.
async fn send_details(
    mut program: Program,
    id: u64,
    mut details: Details,
    sender: Sender<TaskDetails>,
) -> Result<(), Status> {
    let epoch = program.epoch();
    let clock = Clock { epoch };
    let mut sent_at: Option<Instant> = None;
    loop {
        if sent_at.is_none_or(|at| at.elapsed() >= DETAILS_INTERVAL) {
            sent_at = Some(Instant::now());
            let time = epoch.elapsed().unwrap_or_default();
            let update = details.to_wire(clock, time.as_micros() as u64)?;
            if sender.send(Ok(update)).await.is_err() {
                return Ok(());
            }
        }
        let begun = Instant::now();
        let Ok(row) = program.task(id).await else { return Ok(()) };
        details.add(&row);
        sleep(TASK_INTERVAL.max(begun.elapsed() * LOOK_SHARE)).await;
    }
}
