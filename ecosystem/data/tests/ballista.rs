//! Ballista: a scheduler and an executor in this process, which talk over gRPC and Arrow Flight.

use ballista::prelude::SessionContextExt;
use datafusion::prelude::SessionContext;
use ecosystem_data::{Shop, query};

ecosystem_data::on_each_runtime!(
    queries_over_csv_files_return_what_they_must,
    queries_over_parquet_files_return_what_they_must,
);

async fn queries_over_csv_files_return_what_they_must() {
    let (shop, context) = (Shop::new(), SessionContext::standalone().await.unwrap());
    shop.register_csv(&context).await;
    for (sql, expected) in shop.queries() {
        assert_eq!(query(&context, sql).await, expected, "{sql}");
    }
}

async fn queries_over_parquet_files_return_what_they_must() {
    let (shop, context) = (Shop::new(), SessionContext::standalone().await.unwrap());
    shop.register_parquet(&context).await;
    for (sql, expected) in shop.queries() {
        assert_eq!(query(&context, sql).await, expected, "{sql}");
    }
}
