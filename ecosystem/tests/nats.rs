//! async-nats with a real NATS server, with JetStream.

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::time::Duration;

use async_nats::jetstream::consumer::{PullConsumer, pull};
use async_nats::jetstream::{self, AckKind, stream};
use async_nats::{Client, RequestErrorKind};
use ecosystem::servers::{self, unique};
use ecosystem::{payload, same_bytes};
use futures_util::future::try_join_all;
use futures_util::{StreamExt, TryStreamExt};
use tokio::task::JoinSet;
use tokio::time::timeout;

ecosystem::on_each_runtime!(
    every_subscriber_gets_every_message,
    two_hundred_requests_are_each_answered_once_by_a_group,
    a_large_message_arrives_whole,
    a_request_without_responder_fails,
    a_drained_subscription_gives_what_it_has_and_ends,
    a_stream_keeps_what_was_acknowledged,
    workers_share_a_consumer_and_handle_each_message_once,
    a_message_that_was_refused_comes_again,
    a_client_connects_again_and_goes_on,
);

async fn connect() -> Client {
    async_nats::connect(servers::nats()).await.unwrap()
}

/// Waits until the server has processed everything that `client` has sent so far, including its
/// subscriptions: sends a message, and waits until it comes back. (A flush only writes.)
async fn server_has_processed_all(client: &Client) {
    let inbox = client.new_inbox();
    let mut echo = client.subscribe(inbox.clone()).await.unwrap();
    client.publish(inbox, "".into()).await.unwrap();
    echo.next().await.unwrap();
}

async fn every_subscriber_gets_every_message() {
    let subject = unique("news");
    let mut subscribers = JoinSet::new();
    for _ in 0..20 {
        let client = connect().await;
        let subscription = client.subscribe(subject.clone()).await.unwrap();
        server_has_processed_all(&client).await;
        subscribers.spawn(async move {
            let _client = client;
            subscription.take(500).map(|message| message.payload).collect::<Vec<_>>().await
        });
    }
    let client = connect().await;
    for number in 0..500 {
        client.publish(subject.clone(), number.to_string().into()).await.unwrap();
    }
    client.flush().await.unwrap();
    for received in subscribers.join_all().await {
        assert!(received.iter().enumerate().all(|(number, text)| *text == number.to_string()));
        assert_eq!(received.len(), 500);
    }
}

async fn two_hundred_requests_are_each_answered_once_by_a_group() {
    let subject = unique("square");
    let answered = Arc::new(AtomicUsize::new(0));
    for _ in 0..4 {
        let (client, answered) = (connect().await, answered.clone());
        let group = client.queue_subscribe(subject.clone(), "workers".to_owned()).await;
        let mut requests = group.unwrap();
        server_has_processed_all(&client).await;
        tokio::spawn(async move {
            while let Some(request) = requests.next().await {
                let number: u64 = std::str::from_utf8(&request.payload).unwrap().parse().unwrap();
                let square = (number * number).to_string();
                client.publish(request.reply.unwrap(), square.into()).await.unwrap();
                answered.fetch_add(1, SeqCst);
            }
        });
    }
    let client = connect().await;
    let mut requests = JoinSet::new();
    for number in 0..200_u64 {
        let (client, subject) = (client.clone(), subject.clone());
        requests.spawn(async move {
            let answer = client.request(subject, number.to_string().into()).await.unwrap();
            assert_eq!(answer.payload, (number * number).to_string());
        });
    }
    assert_eq!(requests.join_all().await.len(), 200);
    assert_eq!(answered.load(SeqCst), 200);
}

async fn a_large_message_arrives_whole() {
    let (client, subject) = (connect().await, unique("large"));
    let mut subscription = client.subscribe(subject.clone()).await.unwrap();
    let sent = payload(1_000_000);
    client.publish(subject, sent.clone()).await.unwrap();
    same_bytes(&subscription.next().await.unwrap().payload, &sent);
}

async fn a_request_without_responder_fails() {
    let client = connect().await;
    let error = client.request(unique("nobody"), "hello".into()).await.unwrap_err();
    assert_eq!(error.kind(), RequestErrorKind::NoResponders);

    let subject = unique("deaf");
    let _deaf = client.subscribe(subject.clone()).await.unwrap();
    let request = async_nats::Request::new().timeout(Some(Duration::from_millis(50)));
    let error = client.send_request(subject, request.payload("hello".into())).await.unwrap_err();
    assert_eq!(error.kind(), RequestErrorKind::TimedOut);
}

async fn a_drained_subscription_gives_what_it_has_and_ends() {
    let (client, subject) = (connect().await, unique("drained"));
    let mut subscription = client.subscribe(subject.clone()).await.unwrap();
    for number in 0..50 {
        client.publish(subject.clone(), number.to_string().into()).await.unwrap();
    }
    // Only messages that have arrived are drained: the client drops a subscription the next time it
    // reads, however little it reads.
    server_has_processed_all(&client).await;
    subscription.drain().await.unwrap();
    let received: Vec<_> = subscription.map(|message| message.payload).collect().await;
    assert_eq!(received.len(), 50);
}

/// Creates a stream with a name of its own, and the subject that it stores.
async fn create_stream(client: Client) -> (jetstream::Context, stream::Stream, String) {
    let context = jetstream::new(client);
    let name = unique("stream");
    let config = stream::Config {
        name: name.clone(),
        subjects: vec![format!("{name}.>")],
        ..Default::default()
    };
    let stream = context.create_stream(config).await.unwrap();
    (context, stream, format!("{name}.event"))
}

/// Publishes all messages concurrently. The server acknowledges each one when it is stored.
async fn publish(context: &jetstream::Context, subject: &str, count: u64) {
    let mut acknowledgements = Vec::new();
    for number in 1..=count {
        let sent = context.publish(subject.to_owned(), number.to_string().into());
        acknowledgements.push(sent.await.unwrap().into_future());
    }
    let stored = try_join_all(acknowledgements).await.unwrap();
    assert!(stored.iter().zip(1..=count).all(|(stored, number)| stored.sequence == number));
}

async fn durable(stream: &stream::Stream, config: pull::Config) -> PullConsumer {
    let name = Some("durable".to_owned());
    stream.create_consumer(pull::Config { durable_name: name, ..config }).await.unwrap()
}

async fn a_stream_keeps_what_was_acknowledged() {
    let (context, stream, subject) = create_stream(connect().await).await;
    publish(&context, &subject, 500).await;
    drop(context);
    // Another client reads what was stored before it connected.
    let context = jetstream::new(connect().await);
    let mut stream = context.get_stream(stream.cached_info().config.name.clone()).await.unwrap();
    assert_eq!(stream.info().await.unwrap().state.messages, 500);
    let consumer = durable(&stream, pull::Config::default()).await;
    let mut messages = consumer.messages().await.unwrap().take(500);
    let mut expected = 1;
    while let Some(message) = messages.try_next().await.unwrap() {
        assert_eq!(message.payload, expected.to_string());
        message.double_ack().await.unwrap();
        expected += 1;
    }
    assert_eq!(expected, 501);
}

async fn workers_share_a_consumer_and_handle_each_message_once() {
    let (context, stream, subject) = create_stream(connect().await).await;
    publish(&context, &subject, 300).await;
    let consumer = durable(&stream, pull::Config::default()).await;
    let handled = Arc::new(AtomicUsize::new(0));
    let mut workers = JoinSet::new();
    for _ in 0..4 {
        let (consumer, handled) = (consumer.clone(), handled.clone());
        workers.spawn(async move {
            let mut mine = Vec::new();
            while handled.load(SeqCst) < 300 {
                let batch = consumer.fetch().max_messages(10).messages().await.unwrap();
                let mut batch = std::pin::pin!(batch);
                while let Some(message) = batch.next().await {
                    let message = message.unwrap();
                    message.double_ack().await.unwrap();
                    mine.push(message.info().unwrap().stream_sequence);
                    handled.fetch_add(1, SeqCst);
                }
            }
            mine
        });
    }
    let all: Vec<u64> = workers.join_all().await.concat();
    assert_eq!(all.len(), 300);
    assert_eq!(all.into_iter().collect::<HashSet<u64>>(), (1..=300).collect());
}

async fn a_message_that_was_refused_comes_again() {
    let (context, stream, subject) = create_stream(connect().await).await;
    publish(&context, &subject, 1).await;
    let consumer = durable(&stream, pull::Config { max_deliver: 5, ..Default::default() }).await;
    let mut messages = consumer.messages().await.unwrap();
    for delivery in 1..=3 {
        let message = messages.next().await.unwrap().unwrap();
        assert_eq!(message.info().unwrap().delivered, delivery);
        let answer = if delivery < 3 { AckKind::Nak(None) } else { AckKind::Ack };
        message.ack_with(answer).await.unwrap();
    }
}

async fn a_client_connects_again_and_goes_on() {
    let (client, subject) = (connect().await, unique("again"));
    let mut subscription = client.subscribe(subject.clone()).await.unwrap();
    let other = connect().await;
    for round in ["before", "after", "after another"] {
        // What is published before the server knows the subscription again is lost, so publishing
        // is repeated.
        loop {
            other.publish(subject.clone(), round.into()).await.unwrap();
            let received = timeout(Duration::from_millis(20), subscription.next()).await;
            if received.is_ok_and(|message| message.unwrap().payload == round) {
                break;
            }
        }
        client.force_reconnect().await.unwrap();
    }
}
