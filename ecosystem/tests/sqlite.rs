//! sqlx with SQLite, whose threads work together with the runtime's tasks.

use std::time::Duration;

use ecosystem::{Scratch, payload, same_bytes};
use futures_util::{FutureExt, TryStreamExt};
use sqlx::sqlite::{SqliteConnectOptions, SqliteJournalMode, SqlitePool, SqlitePoolOptions};
use sqlx::{Error, Row};
use tokio::task::JoinSet;

ecosystem::on_each_runtime!(
    a_hundred_tasks_count_and_lose_nothing,
    a_dropped_transaction_is_rolled_back,
    a_task_waits_for_a_connection_and_not_forever,
    rows_stream_while_they_are_read,
    a_large_value_comes_back,
    a_dropped_query_leaves_the_pool_usable,
    a_closed_pool_waits_for_those_at_work,
);

async fn open(scratch: &Scratch, connections: u32) -> SqlitePool {
    let options = SqliteConnectOptions::new()
        .filename(scratch.file("test.db"))
        .create_if_missing(true)
        .journal_mode(SqliteJournalMode::Wal)
        .busy_timeout(Duration::from_secs(60));
    let pool = SqlitePoolOptions::new().max_connections(connections);
    pool.connect_with(options).await.unwrap()
}

async fn a_hundred_tasks_count_and_lose_nothing() {
    let scratch = Scratch::new();
    let pool = open(&scratch, 4).await;
    let create = "CREATE TABLE counter (n INTEGER NOT NULL); INSERT INTO counter VALUES (0)";
    sqlx::raw_sql(create).execute(&pool).await.unwrap();
    let mut tasks = JoinSet::new();
    for _ in 0..100 {
        let pool = pool.clone();
        tasks.spawn(async move {
            // Takes the write lock at once. A transaction that takes it later may fail because
            // another one has written.
            let mut both = pool.begin_with("BEGIN IMMEDIATE").await.unwrap();
            let n: i64 =
                sqlx::query_scalar("SELECT n FROM counter").fetch_one(&mut *both).await.unwrap();
            let update = sqlx::query("UPDATE counter SET n = ?").bind(n + 1);
            update.execute(&mut *both).await.unwrap();
            both.commit().await.unwrap();
        });
    }
    assert_eq!(tasks.join_all().await.len(), 100);
    let n: i64 = sqlx::query_scalar("SELECT n FROM counter").fetch_one(&pool).await.unwrap();
    assert_eq!(n, 100);
}

async fn a_dropped_transaction_is_rolled_back() {
    let scratch = Scratch::new();
    let pool = open(&scratch, 1).await;
    sqlx::query("CREATE TABLE notes (note TEXT)").execute(&pool).await.unwrap();
    let mut transaction = pool.begin().await.unwrap();
    let insert = sqlx::query("INSERT INTO notes VALUES ('lost')");
    insert.execute(&mut *transaction).await.unwrap();
    drop(transaction);
    let count: i64 =
        sqlx::query_scalar("SELECT count(*) FROM notes").fetch_one(&pool).await.unwrap();
    assert_eq!(count, 0);
}

async fn a_task_waits_for_a_connection_and_not_forever() {
    let options = SqlitePoolOptions::new().max_connections(1);
    let pool = options.acquire_timeout(Duration::from_millis(50)).connect("sqlite::memory:");
    let pool = pool.await.unwrap();
    let only = pool.acquire().await.unwrap();
    assert!(matches!(pool.acquire().await, Err(Error::PoolTimedOut)));
    drop(only);
    pool.acquire().await.unwrap();
}

async fn rows_stream_while_they_are_read() {
    let pool = SqlitePool::connect("sqlite::memory:").await.unwrap();
    let numbers = "WITH RECURSIVE numbers(n) AS
        (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < 20000) SELECT n FROM numbers";
    let mut rows = sqlx::query(numbers).fetch(&pool);
    let mut expected = 1;
    while let Some(row) = rows.try_next().await.unwrap() {
        assert_eq!(row.get::<i64, _>(0), expected);
        expected += 1;
    }
    assert_eq!(expected, 20_001);
}

async fn a_large_value_comes_back() {
    let pool = SqlitePool::connect("sqlite::memory:").await.unwrap();
    let sent = payload(4 << 20);
    let query = sqlx::query_scalar("SELECT ?").bind(&sent[..]);
    let came: Vec<u8> = query.fetch_one(&pool).await.unwrap();
    same_bytes(&came, &sent);
}

async fn a_dropped_query_leaves_the_pool_usable() {
    let options = SqlitePoolOptions::new().max_connections(1);
    let pool = options.connect("sqlite::memory:").await.unwrap();
    let slow = "WITH RECURSIVE numbers(n) AS
        (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < 200000) SELECT max(n) FROM numbers";
    for _ in 0..10 {
        let query = sqlx::query(slow).fetch_one(&pool);
        assert!(query.now_or_never().is_none());
    }
    let one: i64 = sqlx::query_scalar("SELECT 1").fetch_one(&pool).await.unwrap();
    assert_eq!(one, 1);
}

async fn a_closed_pool_waits_for_those_at_work() {
    let scratch = Scratch::new();
    let pool = open(&scratch, 2).await;
    let at_work = pool.acquire().await.unwrap();
    let closing = tokio::spawn({
        let pool = pool.clone();
        async move { pool.close().await }
    });
    pool.close_event().await;
    assert!(matches!(pool.acquire().await, Err(Error::PoolClosed)));
    assert!(!closing.is_finished());
    drop(at_work);
    closing.await.unwrap();
}
