//! tokio-stream: streams made from Tokio's channels, timers and sockets.

use std::collections::HashMap;
use std::time::Duration;

use ecosystem::{Scratch, payload};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream, UnixListener, UnixStream};
use tokio::process::Command;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::{broadcast, mpsc, watch};
use tokio::task::JoinSet;
use tokio::time::{Instant, interval, sleep};
use tokio_stream::wrappers::{
    BroadcastStream, IntervalStream, LinesStream, ReadDirStream, ReceiverStream, SignalStream,
    TcpListenerStream, UnboundedReceiverStream, UnixListenerStream, WatchStream,
};
use tokio_stream::{StreamExt, StreamMap};

ecosystem::on_each_runtime!(
    channels_merge_into_one_stream,
    a_map_of_streams_knows_whose_item_it_is,
    a_lagging_subscriber_is_told_how_much_it_missed,
    a_watch_stream_gives_the_value_there_is_and_the_last,
    two_hundred_connections_come_from_a_listener,
    connections_come_from_a_unix_listener,
    a_folder_is_a_stream_of_its_entries,
    signals_are_a_stream_too,
);

async fn channels_merge_into_one_stream() {
    let (bounded, first) = mpsc::channel(1);
    let (unbounded, second) = mpsc::unbounded_channel();
    tokio::spawn(async move {
        for number in (0..100).step_by(2) {
            bounded.send(number).await.unwrap();
        }
    });
    tokio::spawn(async move {
        for number in (1..100).step_by(2) {
            unbounded.send(number).unwrap();
        }
    });
    let merged = ReceiverStream::new(first).merge(UnboundedReceiverStream::new(second));
    let mut numbers: Vec<i32> = merged.collect().await;
    numbers.sort();
    assert_eq!(numbers, (0..100).collect::<Vec<i32>>());
}

async fn a_map_of_streams_knows_whose_item_it_is() {
    let mut streams = StreamMap::new();
    for key in 0..20 {
        let (sender, receiver) = mpsc::channel(2);
        streams.insert(key, ReceiverStream::new(receiver));
        tokio::spawn(async move {
            for number in 0..key {
                sender.send((key, number)).await.unwrap();
            }
        });
    }
    let mut counts: HashMap<usize, usize> = HashMap::new();
    while let Some((key, (sender, number))) = streams.next().await {
        let count = counts.entry(key).or_default();
        assert_eq!((sender, number), (key, *count));
        *count += 1;
    }
    assert_eq!(counts, (1..20).map(|key| (key, key)).collect());
}

async fn a_lagging_subscriber_is_told_how_much_it_missed() {
    let (sender, receiver) = broadcast::channel(4);
    for number in 0..10 {
        sender.send(number).unwrap();
    }
    drop(sender);
    let items: Vec<_> = BroadcastStream::new(receiver).collect().await;
    assert_eq!(items[0].as_ref().unwrap_err().to_string(), "channel lagged by 6");
    let rest: Vec<i32> = items.into_iter().skip(1).map(Result::unwrap).collect();
    assert_eq!(rest, [6, 7, 8, 9]);
}

async fn a_watch_stream_gives_the_value_there_is_and_the_last() {
    let (sender, receiver) = watch::channel(0);
    let mut values = WatchStream::new(receiver);
    assert_eq!(values.next().await, Some(0));
    let watcher = tokio::spawn(async move {
        let mut last = 0;
        while let Some(value) = values.next().await {
            assert!(value > last);
            last = value;
        }
        last
    });
    for value in 1..=1000 {
        sender.send(value).unwrap();
        if value % 10 == 0 {
            tokio::task::yield_now().await;
        }
    }
    drop(sender);
    assert_eq!(watcher.await.unwrap(), 1000);
}

async fn two_hundred_connections_come_from_a_listener() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let mut clients: JoinSet<()> = (0..200)
        .map(|client| async move {
            let mut socket = TcpStream::connect(address).await.unwrap();
            socket.write_all(format!("{client}\n").as_bytes()).await.unwrap();
        })
        .collect();
    let accepted = TcpListenerStream::new(listener).take(200);
    let mut names: Vec<u32> = accepted
        .then(|socket| async {
            let mut lines = LinesStream::new(BufReader::new(socket.unwrap()).lines());
            lines.next().await.unwrap().unwrap().parse().unwrap()
        })
        .collect()
        .await;
    names.sort();
    assert_eq!(names, (0..200).collect::<Vec<u32>>());
    while let Some(client) = clients.join_next().await {
        client.unwrap();
    }
}

async fn connections_come_from_a_unix_listener() {
    let scratch = Scratch::new();
    let path = scratch.file("socket");
    let listener = UnixListener::bind(&path).unwrap();
    let clients: JoinSet<()> = (0..20)
        .map(|_| {
            let path = path.clone();
            async move {
                let mut socket = UnixStream::connect(path).await.unwrap();
                socket.write_all(&payload(100_000)).await.unwrap();
            }
        })
        .collect();
    let mut accepted = UnixListenerStream::new(listener).take(20);
    let mut came = 0;
    while let Some(socket) = accepted.next().await {
        came += tokio::io::copy(&mut socket.unwrap(), &mut tokio::io::sink()).await.unwrap();
    }
    assert_eq!(came, 20 * 100_000);
    clients.join_all().await;
}

async fn a_folder_is_a_stream_of_its_entries() {
    let scratch = Scratch::new();
    for number in 0..100 {
        tokio::fs::write(scratch.file(&number.to_string()), b"").await.unwrap();
    }
    let entries = ReadDirStream::new(tokio::fs::read_dir(scratch.folder()).await.unwrap());
    let mut numbers: Vec<u32> = entries
        .map(|entry| entry.unwrap().file_name().to_str().unwrap().parse().unwrap())
        .collect()
        .await;
    numbers.sort();
    assert_eq!(numbers, (0..100).collect::<Vec<u32>>());
}

async fn signals_are_a_stream_too() {
    let mut signals = SignalStream::new(signal(SignalKind::user_defined1()).unwrap());
    for _ in 0..3 {
        let mut kill = Command::new("kill");
        kill.args(["-USR1", &std::process::id().to_string()]);
        assert!(kill.status().await.unwrap().success());
        assert_eq!(signals.next().await, Some(()));
    }
}

#[tokio::test(start_paused = true)]
async fn an_interval_is_a_stream_and_a_stream_can_be_throttled() {
    let start = Instant::now();
    let ticks: Vec<Instant> =
        IntervalStream::new(interval(Duration::from_millis(10))).take(5).collect().await;
    assert_eq!(ticks.len(), 5);
    assert_eq!(ticks[4] - start, Duration::from_millis(40));

    let start = Instant::now();
    let throttled = tokio_stream::iter(0..5).throttle(Duration::from_secs(1));
    assert_eq!(throttled.collect::<Vec<i32>>().await.len(), 5);
    assert!(start.elapsed() >= Duration::from_secs(4), "{:?}", start.elapsed());
}

#[tokio::test(start_paused = true)]
async fn a_stream_that_pauses_times_out_and_gives_what_it_has() {
    let (sender, receiver) = mpsc::channel(10);
    tokio::spawn(async move {
        for number in 0..6 {
            sender.send(number).await.unwrap();
            if number == 3 {
                sleep(Duration::from_secs(5)).await;
            }
        }
    });
    let chunks = ReceiverStream::new(receiver).chunks_timeout(3, Duration::from_secs(1));
    let chunks: Vec<Vec<i32>> = chunks.collect().await;
    assert_eq!(chunks, [vec![0, 1, 2], vec![3], vec![4, 5]]);

    let mut never = Box::pin(tokio_stream::pending::<()>().timeout(Duration::from_secs(1)));
    assert!(never.next().await.unwrap().is_err());
}
