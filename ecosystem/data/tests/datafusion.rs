//! DataFusion: joins, groups, windows and sorts over CSV and Parquet files.

use std::sync::Arc;
use std::time::Duration;

use datafusion::execution::runtime_env::RuntimeEnvBuilder;
use datafusion::physical_plan::{ExecutionPlan, collect};
use datafusion::prelude::{SessionConfig, SessionContext};
use ecosystem_data::{SORTED, Shop, query, rows};
use futures::StreamExt;
use tokio::runtime::Handle;
use tokio::task::JoinSet;
use tokio::time::sleep;

ecosystem_data::on_each_runtime!(
    queries_over_csv_files_return_what_they_must,
    queries_over_parquet_files_return_what_they_must,
    queries_at_the_same_time_do_not_mix,
    a_sort_in_little_memory_spills_to_files,
    a_query_that_is_dropped_ends_its_tasks,
);

/// Returns a context that splits each query into several tasks.
fn context() -> SessionContext {
    SessionContext::new_with_config(SessionConfig::new().with_target_partitions(4))
}

async fn queries_over_csv_files_return_what_they_must() {
    let (shop, context) = (Shop::new(), context());
    shop.register_csv(&context).await;
    for (sql, expected) in shop.queries() {
        assert_eq!(query(&context, sql).await, expected, "{sql}");
    }
}

async fn queries_over_parquet_files_return_what_they_must() {
    let (shop, context) = (Shop::new(), context());
    shop.register_parquet(&context).await;
    for (sql, expected) in shop.queries() {
        assert_eq!(query(&context, sql).await, expected, "{sql}");
    }
}

async fn queries_at_the_same_time_do_not_mix() {
    let (shop, context) = (Shop::new(), context());
    shop.register_parquet(&context).await;
    let mut queries = JoinSet::new();
    for _ in 0..6 {
        for (sql, expected) in shop.queries() {
            let context = context.clone();
            queries.spawn(async move { assert_eq!(query(&context, sql).await, expected, "{sql}") });
        }
    }
    queries.join_all().await;
}

async fn a_sort_in_little_memory_spills_to_files() {
    let shop = Shop::new();
    let memory = RuntimeEnvBuilder::new().with_memory_limit(1_000_000, 1.0).build_arc().unwrap();
    let config = SessionConfig::new()
        .with_target_partitions(1)
        .with_sort_spill_reservation_bytes(100_000)
        .with_batch_size(500);
    let context = SessionContext::new_with_config_rt(config, memory);
    shop.register_csv(&context).await;
    let plan = context.sql(SORTED).await.unwrap().create_physical_plan().await.unwrap();
    let batches = collect(Arc::clone(&plan), context.task_ctx()).await.unwrap();
    let expected = shop.queries().into_iter().find(|(sql, _)| *sql == SORTED).unwrap().1;
    assert_eq!(rows(&batches), expected);
    assert!(spills(&plan) > 0);
}

/// Returns how many files the steps of a plan have spilled to.
fn spills(plan: &Arc<dyn ExecutionPlan>) -> usize {
    let own = plan.metrics().and_then(|metrics| metrics.spill_count()).unwrap_or(0);
    own + plan.children().into_iter().map(spills).sum::<usize>()
}

async fn a_query_that_is_dropped_ends_its_tasks() {
    let (shop, context) = (Shop::new(), context());
    shop.register_parquet(&context).await;
    for _ in 0..10 {
        let mut stream = context.sql(SORTED).await.unwrap().execute_stream().await.unwrap();
        assert!(stream.next().await.unwrap().unwrap().num_rows() > 0);
        drop(stream);
        while Handle::current().metrics().num_alive_tasks() > 0 {
            sleep(Duration::from_millis(1)).await;
        }
    }
    let (sql, expected) = shop.queries().swap_remove(0);
    assert_eq!(query(&context, sql).await, expected);
}
