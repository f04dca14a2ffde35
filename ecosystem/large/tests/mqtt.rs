//! rumqttd, an MQTT broker, and rumqttc's client.
//!
//! The broker has threads with runtimes of their own. The clients run on each kind of runtime.

use std::collections::HashMap;
use std::thread;
use std::time::Duration;

use ecosystem_large::unused_port;
use rumqttc::{AsyncClient, Event, EventLoop, LastWill, MqttOptions, Outgoing, Packet, QoS};
use rumqttd::{Broker, Config, ConnectionSettings, RouterConfig, ServerSettings};
use tokio::net::TcpStream;
use tokio::task::JoinSet;
use tokio::time::sleep;

ecosystem_large::on_each_runtime!(
    each_subscriber_gets_the_messages_of_each_publisher_in_order,
    a_session_keeps_messages_for_a_client_that_is_away,
    the_will_of_a_client_that_vanishes_is_published,
    a_client_that_says_nothing_stays_connected,
);

/// Starts a broker, which runs until the process ends, and returns its port.
async fn broker() -> u16 {
    let port = unused_port();
    let connections = ConnectionSettings {
        connection_timeout_ms: 60_000,
        max_payload_size: 20_480,
        max_inflight_count: 100,
        auth: None,
        external_auth: None,
        dynamic_filters: true,
    };
    let server = ServerSettings {
        name: "v4".to_owned(),
        listen: ([127, 0, 0, 1], port).into(),
        tls: None,
        next_connection_delay_ms: 0,
        connections,
    };
    let router = RouterConfig {
        max_connections: 1000,
        max_outgoing_packet_count: 200,
        max_segment_size: 1024 * 1024,
        max_segment_count: 10,
        ..RouterConfig::default()
    };
    let config =
        Config { router, v4: Some(HashMap::from([("1".to_owned(), server)])), ..Config::default() };
    thread::spawn(move || Broker::new(config).start().unwrap());
    while TcpStream::connect(("127.0.0.1", port)).await.is_err() {
        sleep(Duration::from_millis(5)).await;
    }
    port
}

fn options(id: &str, port: u16) -> MqttOptions {
    let mut options = MqttOptions::new(id, "127.0.0.1", port);
    options.set_keep_alive(Duration::from_secs(30));
    options
}

/// Publishes these texts on a connection of its own, and waits until the broker has acknowledged all.
async fn publish(id: String, port: u16, topic: String, texts: Vec<String>) {
    let (client, mut events) = AsyncClient::new(options(&id, port), 10);
    let mut unacknowledged = texts.len();
    let sending = async {
        for text in texts {
            client.publish(&topic, QoS::AtLeastOnce, false, text).await.unwrap();
        }
    };
    let receiving = async {
        while unacknowledged > 0 {
            if let Event::Incoming(Packet::PubAck(_)) = events.poll().await.unwrap() {
                unacknowledged -= 1;
            }
        }
    };
    tokio::join!(sending, receiving);
    disconnect(&client, events).await;
}

/// Says good-bye, and waits until the broker has closed the connection.
///
/// rumqttd frees the connection's number when it handles the good-bye. If the client closes first,
/// rumqttd may disconnect that number once more, although a new client has it by then. This happens on
/// Tokio too.
async fn disconnect(client: &AsyncClient, mut events: EventLoop) {
    client.disconnect().await.unwrap();
    while events.poll().await.unwrap() != Event::Outgoing(Outgoing::Disconnect) {}
    while events.poll().await.is_ok() {}
}

fn numbers(count: usize) -> Vec<String> {
    (0..count).map(|number| number.to_string()).collect()
}

/// Subscribes, and returns when the broker has acknowledged it.
async fn subscribe(client: &AsyncClient, events: &mut EventLoop, filter: &str) {
    client.subscribe(filter, QoS::AtLeastOnce).await.unwrap();
    while !matches!(events.poll().await.unwrap(), Event::Incoming(Packet::SubAck(_))) {}
}

/// Returns the topic and the text of the next message.
async fn next(events: &mut EventLoop) -> (String, String) {
    loop {
        if let Event::Incoming(Packet::Publish(message)) = events.poll().await.unwrap() {
            return (message.topic, String::from_utf8(message.payload.to_vec()).unwrap());
        }
    }
}

async fn each_subscriber_gets_the_messages_of_each_publisher_in_order() {
    const PUBLISHERS: usize = 10;
    const MESSAGES: usize = 100;
    let port = broker().await;
    let mut subscribers: JoinSet<HashMap<String, Vec<String>>> = JoinSet::new();
    for number in 0..3 {
        let (client, mut events) = AsyncClient::new(options(&format!("in-{number}"), port), 10);
        subscribe(&client, &mut events, "load/+").await;
        subscribers.spawn(async move {
            let mut came: HashMap<String, Vec<String>> = HashMap::new();
            for _ in 0..PUBLISHERS * MESSAGES {
                let (topic, text) = next(&mut events).await;
                came.entry(topic).or_default().push(text);
            }
            drop(client);
            came
        });
    }
    let publishers: JoinSet<()> = (0..PUBLISHERS)
        .map(|number| {
            publish(format!("out-{number}"), port, format!("load/{number}"), numbers(MESSAGES))
        })
        .collect();
    for came in subscribers.join_all().await {
        assert_eq!(came.len(), PUBLISHERS);
        for (topic, messages) in came {
            assert_eq!(messages, numbers(MESSAGES), "{topic}");
        }
    }
    publishers.join_all().await;
}

async fn a_session_keeps_messages_for_a_client_that_is_away() {
    let port = broker().await;
    let away = || {
        let mut options = options("away", port);
        options.set_clean_session(false);
        AsyncClient::new(options, 10)
    };
    let (client, mut events) = away();
    subscribe(&client, &mut events, "news").await;
    disconnect(&client, events).await;
    publish("publisher".to_owned(), port, "news".to_owned(), numbers(20)).await;
    let (_client, mut events) = away();
    for number in numbers(20) {
        assert_eq!(next(&mut events).await, ("news".to_owned(), number));
    }
}

async fn the_will_of_a_client_that_vanishes_is_published() {
    let port = broker().await;
    let (client, mut heirs) = AsyncClient::new(options("heir", port), 10);
    subscribe(&client, &mut heirs, "wills/#").await;
    let mut with_will = options("mortal", port);
    with_will.set_last_will(LastWill::new("wills/mortal", "gone", QoS::AtLeastOnce, false));
    let (mortal, mut events) = AsyncClient::new(with_will, 10);
    while !matches!(events.poll().await.unwrap(), Event::Incoming(Packet::ConnAck(_))) {}
    // Closes the socket without saying good-bye.
    drop((mortal, events));
    assert_eq!(next(&mut heirs).await, ("wills/mortal".to_owned(), "gone".to_owned()));
}

async fn a_client_that_says_nothing_stays_connected() {
    let port = broker().await;
    let mut quiet = options("quiet", port);
    quiet.set_keep_alive(Duration::from_secs(1));
    let (client, mut events) = AsyncClient::new(quiet, 10);
    subscribe(&client, &mut events, "calls").await;
    let mut pings = 0;
    while pings < 2 {
        if let Event::Incoming(Packet::PingResp) = events.poll().await.unwrap() {
            pings += 1;
        }
    }
    let caller = publish("caller".to_owned(), port, "calls".to_owned(), numbers(1));
    tokio::spawn(caller);
    assert_eq!(next(&mut events).await, ("calls".to_owned(), "0".to_owned()));
}
