//! tracing: spans stay with their futures, on any thread and with other tasks polled in between.

use std::sync::{Arc, Mutex};

use futures_util::future::join_all;
use tokio::sync::Barrier;
use tokio::task::yield_now;
use tracing::dispatcher::with_default;
use tracing::instrument::WithSubscriber;
use tracing::{Dispatch, Event, Instrument, Subscriber, info, info_span, instrument};
use tracing_subscriber::Registry;
use tracing_subscriber::layer::{Context, Layer, SubscriberExt};
use tracing_subscriber::registry::LookupSpan;

ecosystem::on_each_runtime!(
    a_span_covers_what_follows_an_await,
    spans_of_tasks_that_take_turns_do_not_mix,
    a_spawned_task_has_the_span_it_is_given_and_no_other,
    a_span_goes_along_to_the_blocking_pool,
);

/// Records each event as the names of its spans, outermost first, with its message.
#[derive(Clone, Default)]
struct Journal(Arc<Mutex<Vec<String>>>);

impl Journal {
    fn subscriber(&self) -> impl Subscriber + Send + Sync + use<> {
        Registry::default().with(self.clone())
    }

    fn lines(&self) -> Vec<String> {
        std::mem::take(&mut self.0.lock().unwrap())
    }
}

impl<S: Subscriber + for<'a> LookupSpan<'a>> Layer<S> for Journal {
    fn on_event(&self, event: &Event<'_>, context: Context<'_, S>) {
        let mut line = String::new();
        for span in context.event_scope(event).into_iter().flat_map(|scope| scope.from_root()) {
            line += span.name();
            line += "/";
        }
        event.record(&mut |_: &tracing::field::Field, value: &dyn std::fmt::Debug| {
            line += &format!("{value:?}");
        });
        self.0.lock().unwrap().push(line);
    }
}

#[instrument]
async fn outer() {
    info!("before");
    inner().await;
    yield_now().await;
    info!("after");
}

#[instrument]
async fn inner() {
    yield_now().await;
    info!("within");
}

async fn a_span_covers_what_follows_an_await() {
    let journal = Journal::default();
    outer().with_subscriber(journal.subscriber()).await;
    assert_eq!(journal.lines(), ["outer/before", "outer/inner/within", "outer/after"]);
    info!("not in the journal");
    assert_eq!(journal.lines(), [""; 0]);
}

async fn spans_of_tasks_that_take_turns_do_not_mix() {
    let journal = Journal::default();
    let dispatch = Dispatch::new(journal.subscriber());
    let in_turns = Arc::new(Barrier::new(20));
    let tasks = (0..20).map(|number| {
        let (name, span) = with_default(&dispatch, || match number % 2 {
            0 => ("even", info_span!("even")),
            _ => ("odd", info_span!("odd")),
        });
        let in_turns = in_turns.clone();
        let work = async move {
            for _ in 0..50 {
                // No task is more than one round ahead of the others.
                in_turns.wait().await;
                info!(name);
            }
        };
        tokio::spawn(work.instrument(span).with_subscriber(dispatch.clone()))
    });
    join_all(tasks).await.into_iter().for_each(Result::unwrap);
    let lines = journal.lines();
    let count = |wanted| lines.iter().filter(|line| *line == wanted).count();
    assert_eq!((count("even/\"even\""), count("odd/\"odd\""), lines.len()), (500, 500, 1000));
}

async fn a_spawned_task_has_the_span_it_is_given_and_no_other() {
    let journal = Journal::default();
    #[instrument]
    async fn parent() {
        let bare = async { info!("bare") }.with_current_subscriber();
        let given = async { info!("given") }.in_current_span().with_current_subscriber();
        tokio::spawn(bare).await.unwrap();
        tokio::spawn(given).await.unwrap();
    }
    parent().with_subscriber(journal.subscriber()).await;
    assert_eq!(journal.lines(), ["bare", "parent/given"]);
}

async fn a_span_goes_along_to_the_blocking_pool() {
    let journal = Journal::default();
    let dispatch = Dispatch::new(journal.subscriber());
    let parent = with_default(&dispatch, || info_span!("parent"));
    let work = move || with_default(&dispatch, || parent.in_scope(|| info!("blocking")));
    tokio::task::spawn_blocking(work).await.unwrap();
    assert_eq!(journal.lines(), ["parent/blocking"]);
}
