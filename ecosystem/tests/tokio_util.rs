//! tokio-util: codecs, cancellation, task trackers, delay queues, bridges to blocking code and to
//! the traits of futures.

use std::io::{Read, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use ecosystem::{payload, same_bytes};
use futures_util::io::{AsyncReadExt as _, AsyncWriteExt as _};
use futures_util::{SinkExt, StreamExt, TryStreamExt, stream};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader, duplex};
use tokio::net::{TcpListener, TcpStream, UdpSocket};
use tokio::sync::{Semaphore, mpsc};
use tokio::task::JoinSet;
use tokio::time::Instant;
use tokio_util::codec::{
    AnyDelimiterCodec, BytesCodec, Framed, FramedRead, FramedWrite, LengthDelimitedCodec,
    LinesCodec, LinesCodecError,
};
use tokio_util::compat::TokioAsyncReadCompatExt;
use tokio_util::io::{ReaderStream, StreamReader, SyncIoBridge};
use tokio_util::sync::{CancellationToken, PollSemaphore, PollSender};
use tokio_util::task::{AbortOnDropHandle, JoinMap, LocalPoolHandle, TaskTracker};
use tokio_util::time::{DelayQueue, FutureExt};
use tokio_util::udp::UdpFramed;

ecosystem::on_each_runtime!(
    frames_of_all_lengths_cross_a_socket,
    two_hundred_sockets_speak_in_lines_at_once,
    a_line_that_is_too_long_is_an_error_and_the_next_is_not,
    words_end_at_any_delimiter,
    datagrams_are_frames_too,
    cancelling_a_token_reaches_all_below_it_and_none_above,
    a_dropped_guard_cancels,
    a_cancelled_future_is_dropped_at_once,
    a_tracker_waits_for_its_tasks_and_only_once_closed,
    tasks_of_a_join_map_are_known_by_their_keys,
    a_handle_that_is_dropped_aborts_its_task,
    a_local_pool_runs_what_must_not_move,
    a_stream_is_a_reader_and_a_reader_a_stream,
    blocking_code_reads_and_writes_what_is_async,
    sockets_have_the_traits_of_futures,
    a_channel_is_a_sink,
    permits_come_by_polling,
);

async fn socket_pair() -> (TcpStream, TcpStream) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let connect = TcpStream::connect(listener.local_addr().unwrap());
    let (connected, accepted) = tokio::join!(connect, listener.accept());
    (connected.unwrap(), accepted.unwrap().0)
}

async fn frames_of_all_lengths_cross_a_socket() {
    let (near, far) = socket_pair().await;
    let frames: Vec<Bytes> = (0..21).map(|power| payload((1 << power) - 1)).collect();
    let mut sink = FramedWrite::new(near, LengthDelimitedCodec::new());
    let sent = frames.clone();
    let sender = tokio::spawn(async move {
        sink.send_all(&mut stream::iter(sent).map(Ok)).await.unwrap();
        sink.into_inner().shutdown().await.unwrap();
    });
    let mut source = FramedRead::new(far, LengthDelimitedCodec::new());
    for sent in frames {
        same_bytes(&source.next().await.unwrap().unwrap(), &sent);
    }
    assert!(source.next().await.is_none());
    sender.await.unwrap();
}

async fn two_hundred_sockets_speak_in_lines_at_once() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            tokio::spawn(async move {
                let (mut sink, source) = Framed::new(stream, LinesCodec::new()).split();
                let upper = source.map_ok(|line| line.to_uppercase());
                upper.forward(&mut sink).await.unwrap();
            });
        }
    });
    let mut talks = JoinSet::new();
    for talk in 0..200 {
        talks.spawn(async move {
            let stream = TcpStream::connect(address).await.unwrap();
            let mut lines = Framed::new(stream, LinesCodec::new());
            for round in 0..10 {
                lines.send(format!("talk {talk} round {round}")).await.unwrap();
                let answer = lines.next().await.unwrap().unwrap();
                assert_eq!(answer, format!("TALK {talk} ROUND {round}"));
            }
        });
    }
    assert_eq!(talks.join_all().await.len(), 200);
}

async fn a_line_that_is_too_long_is_an_error_and_the_next_is_not() {
    let (mut near, far) = duplex(16);
    let sender = tokio::spawn(async move {
        near.write_all(b"short\nmuch longer than allowed\nshort again\n").await.unwrap();
    });
    let mut lines = FramedRead::new(far, LinesCodec::new_with_max_length(12));
    assert_eq!(lines.next().await.unwrap().unwrap(), "short");
    assert!(matches!(lines.next().await, Some(Err(LinesCodecError::MaxLineLengthExceeded))));
    // A stream of frames ends at an error, and continues when polled again.
    assert!(lines.next().await.is_none());
    assert_eq!(lines.next().await.unwrap().unwrap(), "short again");
    sender.await.unwrap();
}

async fn words_end_at_any_delimiter() {
    let codec = AnyDelimiterCodec::new(b" ,;".to_vec(), b";".to_vec());
    let words = FramedRead::new(&b"one two,three;four"[..], codec);
    let words: Vec<Bytes> = words.try_collect().await.unwrap();
    assert_eq!(words, ["one", "two", "three", "four"]);
}

async fn datagrams_are_frames_too() {
    let server = UdpSocket::bind("127.0.0.1:0").await.unwrap();
    let address = server.local_addr().unwrap();
    let mut server = UdpFramed::new(server, BytesCodec::new());
    tokio::spawn(async move {
        while let Some(Ok((frame, peer))) = server.next().await {
            server.send((frame.freeze(), peer)).await.unwrap();
        }
    });
    let client = UdpSocket::bind("127.0.0.1:0").await.unwrap();
    let mut client = UdpFramed::new(client, BytesCodec::new());
    for number in 0..50_u8 {
        // A single datagram fits into any socket's buffer, so none is lost.
        client.send((Bytes::from(vec![number; 100]), address)).await.unwrap();
        let (frame, peer) = client.next().await.unwrap().unwrap();
        assert_eq!((&frame[..], peer), (&[number; 100][..], address));
    }
}

async fn cancelling_a_token_reaches_all_below_it_and_none_above() {
    let root = CancellationToken::new();
    let (left, right) = (root.child_token(), root.child_token());
    let below_left: JoinSet<()> = (0..100).map(|_| left.child_token().cancelled_owned()).collect();
    let below_right: JoinSet<()> =
        (0..100).map(|_| right.child_token().cancelled_owned()).collect();
    left.cancel();
    assert_eq!(below_left.join_all().await.len(), 100);
    assert!(!root.is_cancelled() && !right.is_cancelled());
    root.cancel();
    assert_eq!(below_right.join_all().await.len(), 100);
    assert!(root.child_token().is_cancelled());
}

async fn a_dropped_guard_cancels() {
    let token = CancellationToken::new();
    let waits = tokio::spawn(token.clone().cancelled_owned());
    let guard = token.clone().drop_guard();
    assert!(!token.is_cancelled());
    drop(guard);
    waits.await.unwrap();
}

async fn a_cancelled_future_is_dropped_at_once() {
    let (held, mut is_dropped) = mpsc::channel::<()>(1);
    let token = CancellationToken::new();
    let work = {
        let token = token.clone();
        tokio::spawn(async move {
            let endless = async move {
                let _held = held;
                std::future::pending::<()>().await;
            };
            token.run_until_cancelled(endless).await
        })
    };
    token.cancel();
    assert_eq!(is_dropped.recv().await, None);
    assert_eq!(work.await.unwrap(), None);
    let late = std::future::pending::<()>().timeout(Duration::from_millis(10)).await;
    assert!(late.is_err());
}

async fn a_tracker_waits_for_its_tasks_and_only_once_closed() {
    let (tracker, token) = (TaskTracker::new(), CancellationToken::new());
    let ended = Arc::new(AtomicUsize::new(0));
    for _ in 0..200 {
        let (token, ended) = (token.clone(), ended.clone());
        tracker.spawn(async move {
            token.cancelled().await;
            tokio::task::yield_now().await;
            ended.fetch_add(1, SeqCst);
        });
    }
    assert_eq!(tracker.len(), 200);
    let waits = tokio::spawn({
        let tracker = tracker.clone();
        async move { tracker.wait().await }
    });
    token.cancel();
    while !tracker.is_empty() {
        tokio::task::yield_now().await;
    }
    assert_eq!(ended.load(SeqCst), 200);
    assert!(!waits.is_finished());
    tracker.close();
    waits.await.unwrap();
}

async fn tasks_of_a_join_map_are_known_by_their_keys() {
    let mut tasks = JoinMap::new();
    for key in 0..100_u32 {
        tasks.spawn(key, async move {
            if key % 10 == 9 {
                std::future::pending::<()>().await;
            }
            key * 2
        });
    }
    for key in (9..100).step_by(10) {
        assert!(tasks.abort(&key));
    }
    let mut aborted = 0;
    while let Some((key, outcome)) = tasks.join_next().await {
        match outcome {
            Ok(value) => assert_eq!(value, key * 2),
            Err(error) => {
                assert!(error.is_cancelled() && key % 10 == 9);
                aborted += 1;
            }
        }
    }
    assert_eq!(aborted, 10);
}

async fn a_handle_that_is_dropped_aborts_its_task() {
    let (held, mut is_dropped) = mpsc::channel::<()>(1);
    let task = AbortOnDropHandle::new(tokio::spawn(async move {
        let _held = held;
        std::future::pending::<()>().await;
    }));
    drop(task);
    assert_eq!(is_dropped.recv().await, None);
}

async fn a_local_pool_runs_what_must_not_move() {
    let pool = LocalPoolHandle::new(2);
    let tasks: Vec<_> = (0..50)
        .map(|number| {
            pool.spawn_pinned(move || async move {
                let not_send = std::rc::Rc::new(number);
                tokio::task::yield_now().await;
                *not_send
            })
        })
        .collect();
    for (number, task) in tasks.into_iter().enumerate() {
        assert_eq!(task.await.unwrap(), number);
    }
}

async fn a_stream_is_a_reader_and_a_reader_a_stream() {
    let sent = payload(300_000);
    let pieces = ReaderStream::new(&sent[..]);
    let mut came = Vec::new();
    StreamReader::new(pieces).read_to_end(&mut came).await.unwrap();
    same_bytes(&came, &sent);

    let lines = stream::iter(["a\nb", "b\ncc", "c\n"])
        .map(|piece| Ok::<_, std::io::Error>(piece.as_bytes()));
    let mut lines = StreamReader::new(lines).lines();
    for line in ["a", "bb", "ccc"] {
        assert_eq!(lines.next_line().await.unwrap().unwrap(), line);
    }
    assert_eq!(lines.next_line().await.unwrap(), None);
}

async fn blocking_code_reads_and_writes_what_is_async() {
    let (near, far) = socket_pair().await;
    let sent = payload(1 << 20);
    let writer = {
        let (sent, mut near) = (sent.clone(), SyncIoBridge::new(near));
        tokio::task::spawn_blocking(move || {
            near.write_all(&sent).unwrap();
            near.shutdown().unwrap();
        })
    };
    let reader = {
        let mut far = SyncIoBridge::new(BufReader::new(far));
        tokio::task::spawn_blocking(move || {
            let mut came = Vec::new();
            far.read_to_end(&mut came).unwrap();
            came
        })
    };
    writer.await.unwrap();
    same_bytes(&reader.await.unwrap(), &sent);
}

async fn sockets_have_the_traits_of_futures() {
    let (near, far) = socket_pair().await;
    let (mut near, far) = (near.compat(), far.compat());
    let sent = payload(500_000);
    let writer = async {
        near.write_all(&sent).await.unwrap();
        near.close().await.unwrap();
    };
    let reader = async {
        let mut came = Vec::new();
        let (mut read, _write) = far.split();
        read.read_to_end(&mut came).await.unwrap();
        came
    };
    let ((), came) = tokio::join!(writer, reader);
    same_bytes(&came, &sent);
}

async fn a_channel_is_a_sink() {
    let (sender, mut receiver) = mpsc::channel(2);
    let senders: JoinSet<_> = (0..10)
        .map(|_| {
            let mut sink = PollSender::new(sender.clone());
            async move { sink.send_all(&mut stream::iter(0..100).map(Ok)).await.unwrap() }
        })
        .collect();
    drop(sender);
    let mut sum = 0;
    while let Some(number) = receiver.recv().await {
        sum += number;
    }
    assert_eq!(sum, 10 * 4950);
    senders.join_all().await;
}

async fn permits_come_by_polling() {
    let semaphore = Arc::new(Semaphore::new(0));
    let mut permits = PollSemaphore::new(semaphore.clone());
    let waits = tokio::spawn(async move { permits.next().await.is_some() });
    tokio::task::yield_now().await;
    assert!(!waits.is_finished());
    semaphore.add_permits(1);
    assert!(waits.await.unwrap());
}

#[tokio::test(start_paused = true)]
async fn a_delay_queue_gives_back_in_the_order_of_deadlines() {
    let start = Instant::now();
    let mut queue = DelayQueue::new();
    let keys: Vec<_> =
        (0..100_u64).map(|n| queue.insert(n, Duration::from_millis(n * 37 % 101 + 1))).collect();
    queue.remove(&keys[50]);
    queue.reset(&keys[0], Duration::from_secs(10));
    let mut last = (Instant::now(), 0);
    let mut count = 0;
    while let Some(expired) = queue.next().await {
        assert!(expired.deadline() >= last.0 && Instant::now() >= expired.deadline());
        last = (expired.deadline(), expired.into_inner());
        count += 1;
    }
    assert_eq!((count, last.1), (99, 0));
    assert_eq!(last.0 - start, Duration::from_secs(10));
}

/// A frame that is never complete delays only its own reader.
#[tokio::test(start_paused = true)]
async fn half_a_frame_is_waited_for() {
    let (mut near, far) = duplex(64);
    let mut frames = FramedRead::new(far, LengthDelimitedCodec::new());
    near.write_all(&[0, 0, 0, 4, b'h', b'a']).await.unwrap();
    let next: Result<Option<Result<BytesMut, _>>, _> =
        tokio::time::timeout(Duration::from_secs(60), frames.next()).await;
    assert!(next.is_err());
    near.write_all(b"lf").await.unwrap();
    assert_eq!(frames.next().await.unwrap().unwrap(), "half");
}
