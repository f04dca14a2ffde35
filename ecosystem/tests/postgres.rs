//! tokio-postgres with a real PostgreSQL server.

use std::future::poll_fn;
use std::time::Duration;

use bytes::Bytes;
use ecosystem::servers::{self, unique};
use ecosystem::{payload, same_bytes};
use futures_util::{FutureExt, SinkExt, TryStreamExt, stream};
use tokio::sync::mpsc;
use tokio::task::{JoinHandle, JoinSet};
use tokio_postgres::error::SqlState;
use tokio_postgres::{AsyncMessage, Client, Error, NoTls};

ecosystem::on_each_runtime!(
    two_hundred_queries_at_once_on_one_connection,
    twenty_connections_move_money_and_lose_none,
    a_dropped_transaction_is_rolled_back,
    a_hundred_thousand_rows_are_copied_in_and_out,
    rows_stream_while_they_are_read,
    a_large_value_comes_back,
    notifications_reach_a_listener,
    a_query_is_cancelled_on_the_server,
    a_dropped_query_leaves_the_connection_usable,
    the_connection_ends_with_its_client,
);

async fn connect() -> Client {
    connect_with_task().await.0
}

async fn connect_with_task() -> (Client, JoinHandle<Result<(), Error>>) {
    let address = servers::postgres();
    let (host, port) = address.rsplit_once(':').unwrap();
    let config = format!("host={host} port={port} user=postgres dbname=postgres");
    let (client, connection) = tokio_postgres::connect(&config, NoTls).await.unwrap();
    (client, tokio::spawn(connection))
}

async fn two_hundred_queries_at_once_on_one_connection() {
    let client = std::sync::Arc::new(connect().await);
    let statement = client.prepare("SELECT $1::INT8 * $1::INT8").await.unwrap();
    let mut queries = JoinSet::new();
    for number in 0..200_i64 {
        let (client, statement) = (client.clone(), statement.clone());
        queries.spawn(async move {
            let row = client.query_one(&statement, &[&number]).await.unwrap();
            assert_eq!(row.get::<_, i64>(0), number * number);
        });
    }
    assert_eq!(queries.join_all().await.len(), 200);
}

async fn twenty_connections_move_money_and_lose_none() {
    let table = unique("accounts");
    let client = connect().await;
    let create = format!(
        "CREATE TABLE {table} (id INT PRIMARY KEY, money INT8 NOT NULL);
         INSERT INTO {table} SELECT id, 100 FROM generate_series(0, 4) AS id;"
    );
    client.batch_execute(&create).await.unwrap();
    let mut movers = JoinSet::new();
    for mover in 0..20 {
        let take = format!("UPDATE {table} SET money = money - 1 WHERE id = $1");
        let give = format!("UPDATE {table} SET money = money + 1 WHERE id = $1");
        movers.spawn(async move {
            let mut client = connect().await;
            for round in 0..10 {
                let (a, b) = (mover % 5, (mover + round) % 5);
                let both = client.transaction().await.unwrap();
                // Always updates in the same order; otherwise two transfers could deadlock.
                let steps = if a < b { [(&take, a), (&give, b)] } else { [(&give, b), (&take, a)] };
                for (step, account) in steps {
                    assert_eq!(both.execute(step, &[&account]).await.unwrap(), 1);
                }
                both.commit().await.unwrap();
            }
        });
    }
    assert_eq!(movers.join_all().await.len(), 20);
    let sum =
        client.query_one(&format!("SELECT sum(money)::INT8 FROM {table}"), &[]).await.unwrap();
    assert_eq!(sum.get::<_, i64>(0), 500);
}

async fn a_dropped_transaction_is_rolled_back() {
    let table = unique("notes");
    let mut client = connect().await;
    client.batch_execute(&format!("CREATE TABLE {table} (note TEXT)")).await.unwrap();
    let transaction = client.transaction().await.unwrap();
    transaction.execute(&format!("INSERT INTO {table} VALUES ('lost')"), &[]).await.unwrap();
    drop(transaction);
    let count = client.query_one(&format!("SELECT count(*) FROM {table}"), &[]).await.unwrap();
    assert_eq!(count.get::<_, i64>(0), 0);
}

async fn a_hundred_thousand_rows_are_copied_in_and_out() {
    let table = unique("numbers");
    let client = connect().await;
    client.batch_execute(&format!("CREATE TABLE {table} (number INT8)")).await.unwrap();
    let sink = client.copy_in(&format!("COPY {table} FROM STDIN")).await.unwrap();
    let mut sink = std::pin::pin!(sink);
    let lines = (0..100).map(|block| {
        let rows = (0..1000).map(|row| format!("{}\n", block * 1000 + row));
        Ok(Bytes::from(rows.collect::<String>()))
    });
    sink.send_all(&mut stream::iter(lines)).await.unwrap();
    assert_eq!(sink.finish().await.unwrap(), 100_000);

    let sum = format!("COPY (SELECT sum(number) FROM {table}) TO STDOUT");
    let out = client.copy_out(&sum).await.unwrap();
    let sum: Vec<Bytes> = out.try_collect().await.unwrap();
    assert_eq!(sum.concat(), b"4999950000\n");
    let out = client.copy_out(&format!("COPY {table} TO STDOUT")).await.unwrap();
    let rows =
        out.try_fold(0, |rows, row| async move { Ok(rows + usize::from(row.ends_with(b"\n"))) });
    assert_eq!(rows.await.unwrap(), 100_000);
}

async fn rows_stream_while_they_are_read() {
    let client = connect().await;
    let no_parameters: [&str; 0] = [];
    let rows = client.query_raw("SELECT generate_series(1, 50000)", no_parameters).await.unwrap();
    let mut rows = std::pin::pin!(rows);
    let mut expected = 1;
    while let Some(row) = rows.try_next().await.unwrap() {
        assert_eq!(row.get::<_, i32>(0), expected);
        expected += 1;
    }
    assert_eq!(expected, 50_001);
}

async fn a_large_value_comes_back() {
    let client = connect().await;
    let sent = payload(8 << 20);
    let row = client.query_one("SELECT $1::BYTEA", &[&&sent[..]]).await.unwrap();
    same_bytes(row.get(0), &sent);
}

async fn notifications_reach_a_listener() {
    let channel = unique("news");
    let address = servers::postgres();
    let (host, port) = address.rsplit_once(':').unwrap();
    let config = format!("host={host} port={port} user=postgres dbname=postgres");
    let (listener, mut connection) = tokio_postgres::connect(&config, NoTls).await.unwrap();
    let (notified, mut notifications) = mpsc::unbounded_channel();
    tokio::spawn(async move {
        while let Some(Ok(message)) = poll_fn(|cx| connection.poll_message(cx)).await {
            if let AsyncMessage::Notification(notification) = message {
                notified.send(notification.payload().to_owned()).unwrap();
            }
        }
    });
    listener.batch_execute(&format!("LISTEN {channel}")).await.unwrap();
    let speaker = connect().await;
    for number in 0..100 {
        speaker.batch_execute(&format!("NOTIFY {channel}, '{number}'")).await.unwrap();
    }
    for number in 0..100 {
        assert_eq!(notifications.recv().await.unwrap(), number.to_string());
    }
}

async fn a_query_is_cancelled_on_the_server() {
    let client = connect().await;
    let canceller = client.cancel_token();
    let sleeping = tokio::spawn(async move { client.batch_execute("SELECT pg_sleep(600)").await });
    // A cancellation that arrives before the query has started does nothing, so it is repeated.
    while !sleeping.is_finished() {
        canceller.cancel_query(NoTls).await.unwrap();
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    let error = sleeping.await.unwrap().unwrap_err();
    assert_eq!(error.code(), Some(&SqlState::QUERY_CANCELED), "{error:?}");
}

async fn a_dropped_query_leaves_the_connection_usable() {
    let client = connect().await;
    let slow = client.batch_execute("SELECT pg_sleep(0.2)");
    assert!(slow.now_or_never().is_none());
    let row = client.query_one("SELECT 'still here'", &[]).await.unwrap();
    assert_eq!(row.get::<_, &str>(0), "still here");
}

async fn the_connection_ends_with_its_client() {
    let (client, connection) = connect_with_task().await;
    client.batch_execute("SELECT 1").await.unwrap();
    assert!(!connection.is_finished());
    drop(client);
    connection.await.unwrap().unwrap();
}
