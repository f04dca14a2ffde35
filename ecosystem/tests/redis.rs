//! redis with a real Redis server.

use std::time::Duration;

use ecosystem::servers::{self, unique};
use ecosystem::{payload, same_bytes};
use futures_util::StreamExt;
use redis::aio::MultiplexedConnection;
use redis::{AsyncCommands, AsyncConnectionConfig, Client, Script, cmd, pipe};
use tokio::sync::oneshot;
use tokio::task::JoinSet;

ecosystem::on_each_runtime!(
    a_thousand_commands_at_once_on_one_connection,
    transactions_of_many_tasks_do_not_mix,
    a_pipeline_answers_in_order,
    a_large_value_comes_back,
    every_subscriber_receives_every_message,
    a_blocking_pop_waits_for_a_push,
    a_command_without_an_answer_times_out,
    a_dropped_command_leaves_the_connection_usable,
    a_script_runs_on_the_server,
    a_manager_connects_again_when_its_connection_is_lost,
);

fn client() -> Client {
    Client::open(format!("redis://{}", servers::redis())).unwrap()
}

async fn connect() -> MultiplexedConnection {
    client().get_multiplexed_async_connection().await.unwrap()
}

async fn a_thousand_commands_at_once_on_one_connection() {
    let connection = connect().await;
    let prefix = unique("key");
    let mut commands = JoinSet::new();
    for number in 0..1000_u32 {
        let (mut connection, key) = (connection.clone(), format!("{prefix}:{number}"));
        commands.spawn(async move {
            let () = connection.set(&key, number).await.unwrap();
            assert_eq!(connection.get::<_, u32>(&key).await.unwrap(), number);
        });
    }
    assert_eq!(commands.join_all().await.len(), 1000);
}

async fn transactions_of_many_tasks_do_not_mix() {
    let connection = connect().await;
    let key = unique("counter");
    let mut tasks = JoinSet::new();
    for _ in 0..50 {
        let (mut connection, key) = (connection.clone(), key.clone());
        tasks.spawn(async move {
            let both: (i64, i64) = pipe()
                .atomic()
                .incr(&key, 1)
                .incr(&key, 1)
                .query_async(&mut connection)
                .await
                .unwrap();
            assert_eq!(both.1, both.0 + 1);
        });
    }
    assert_eq!(tasks.join_all().await.len(), 50);
    assert_eq!(connection.clone().get::<_, i64>(&key).await.unwrap(), 100);
}

async fn a_pipeline_answers_in_order() {
    let key = unique("list");
    let mut pipeline = pipe();
    for number in 0..10_000 {
        pipeline.rpush(&key, number);
    }
    let lengths: Vec<i64> = pipeline.query_async(&mut connect().await).await.unwrap();
    assert_eq!(lengths, (1..=10_000).collect::<Vec<i64>>());
}

async fn a_large_value_comes_back() {
    let (mut connection, key) = (connect().await, unique("large"));
    let sent = payload(8 << 20);
    let () = connection.set(&key, &sent[..]).await.unwrap();
    same_bytes(&connection.get::<_, Vec<u8>>(&key).await.unwrap(), &sent);
    let () = connection.del(&key).await.unwrap();
}

async fn every_subscriber_receives_every_message() {
    let channel = unique("channel");
    let mut subscribers = JoinSet::new();
    for _ in 0..20 {
        let mut pubsub = client().get_async_pubsub().await.unwrap();
        pubsub.subscribe(&channel).await.unwrap();
        subscribers.spawn(async move {
            let messages = pubsub.on_message().take(100);
            messages
                .map(|message| message.get_payload::<u32>().unwrap())
                .collect::<Vec<u32>>()
                .await
        });
    }
    let mut connection = connect().await;
    for number in 0..100 {
        let heard: u32 = connection.publish(&channel, number).await.unwrap();
        assert_eq!(heard, 20);
    }
    for heard in subscribers.join_all().await {
        assert_eq!(heard, (0..100).collect::<Vec<u32>>());
    }
}

/// Opens a connection for a blocking command. It answers no other commands meanwhile.
async fn connect_patiently() -> MultiplexedConnection {
    let config = AsyncConnectionConfig::new().set_response_timeout(None);
    client().get_multiplexed_async_connection_with_config(&config).await.unwrap()
}

async fn a_blocking_pop_waits_for_a_push() {
    let key = unique("queue");
    let mut waiting = connect_patiently().await;
    let (is_connected, connected) = oneshot::channel();
    let pop = tokio::spawn({
        let key = key.clone();
        async move {
            is_connected.send(()).unwrap();
            waiting.blpop::<_, (String, String)>(&key, 0.0).await.unwrap()
        }
    });
    connected.await.unwrap();
    let mut connection = connect().await;
    let () = connection.rpush(&key, "at last").await.unwrap();
    assert_eq!(pop.await.unwrap(), (key, "at last".to_owned()));
}

async fn a_command_without_an_answer_times_out() {
    let config = AsyncConnectionConfig::new().set_response_timeout(Some(Duration::from_millis(50)));
    let mut connection =
        client().get_multiplexed_async_connection_with_config(&config).await.unwrap();
    let error = connection.blpop::<_, (String, String)>(unique("none"), 0.0).await.unwrap_err();
    assert!(error.is_timeout(), "{error:?}");
}

async fn a_dropped_command_leaves_the_connection_usable() {
    let mut connection = connect_patiently().await;
    let slow = {
        let mut connection = connection.clone();
        tokio::spawn(async move {
            connection.blpop::<_, Option<(String, String)>>(unique("none"), 0.2).await
        })
    };
    tokio::time::sleep(Duration::from_millis(20)).await;
    slow.abort();
    let pong: String = cmd("PING").query_async(&mut connection).await.unwrap();
    assert_eq!(pong, "PONG");
}

async fn a_script_runs_on_the_server() {
    let key = unique("scripted");
    let script = Script::new("return redis.call('INCRBY', KEYS[1], ARGV[1])");
    let connection = connect().await;
    let mut calls = JoinSet::new();
    for _ in 0..50 {
        let (mut connection, key, script) = (connection.clone(), key.clone(), script.clone());
        calls.spawn(async move {
            let _: i64 = script.key(key).arg(3).invoke_async(&mut connection).await.unwrap();
        });
    }
    assert_eq!(calls.join_all().await.len(), 50);
    assert_eq!(connection.clone().get::<_, i64>(&key).await.unwrap(), 150);
}

async fn a_manager_connects_again_when_its_connection_is_lost() {
    let mut manager = client().get_connection_manager().await.unwrap();
    let id: i64 = cmd("CLIENT").arg("ID").query_async(&mut manager).await.unwrap();
    let mut other = connect().await;
    let killed: i64 =
        cmd("CLIENT").arg("KILL").arg("ID").arg(id).query_async(&mut other).await.unwrap();
    assert_eq!(killed, 1);
    // The first command after the loss may fail. It makes the manager reconnect.
    let new_id: i64 = loop {
        if let Ok(id) = cmd("CLIENT").arg("ID").query_async(&mut manager).await {
            break id;
        }
    };
    assert_ne!(new_id, id);
}
