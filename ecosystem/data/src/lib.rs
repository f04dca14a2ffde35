//! Tests of DataFusion and Ballista, unmodified, on Wakeful. Run `cargo test` in this folder, and the
//! same tests on Tokio in `on-tokio`.
//!
//! The tables, and what each query must return, are computed here in plain Rust.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::fs;

use datafusion::arrow::array::RecordBatch;
use datafusion::arrow::util::display::array_value_to_string;
use datafusion::prelude::{CsvReadOptions, ParquetReadOptions, SessionContext};

#[path = "../../src/runtimes.rs"]
mod runtimes;
#[path = "../../src/scratch.rs"]
mod scratch;

pub use runtimes::{on_current_thread, on_multi_thread};
pub use scratch::Scratch;

const STORES: u64 = 7;
const DAYS: u64 = 30;
const PRODUCTS: u64 = 60;
const CATEGORIES: u64 = 5;
const FILES: u64 = 8;
const SALES_PER_FILE: u64 = 5_000;

/// A store that sells only some of the products.
const SMALL_STORE: u64 = 3;

/// The columns of a sale.
#[derive(Clone, Copy)]
struct Sale {
    store: u64,
    day: u64,
    product: u64,
    amount: u64,
}

/// A shop's tables, as files: `sales`, a folder of CSV files, and `products.csv`.
pub struct Shop {
    folder: Scratch,
    sales: Vec<Sale>,
}

impl Shop {
    /// Writes the files. Each call writes the same.
    pub fn new() -> Shop {
        let folder = Scratch::new();
        let mut random = Random(42);
        let mut sales = Vec::new();
        fs::create_dir(folder.file("sales")).expect("cannot create a folder");
        for file in 0..FILES {
            let mut text = String::from("store,day,product,amount\n");
            for _ in 0..SALES_PER_FILE {
                let sale = Sale::random(&mut random);
                sales.push(sale);
                let Sale { store, day, product, amount } = sale;
                writeln!(text, "{store},{day},{product},{amount}").expect("a string grows");
            }
            let path = folder.file("sales").join(format!("{file}.csv"));
            fs::write(path, text).expect("cannot write a file");
        }
        let mut text = String::from("id,category\n");
        for id in 0..PRODUCTS {
            writeln!(text, "{id},{}", category(id)).expect("a string grows");
        }
        fs::write(folder.file("products.csv"), text).expect("cannot write a file");
        Shop { folder, sales }
    }

    /// Registers the tables with the CSV files behind them.
    pub async fn register_csv(&self, context: &SessionContext) {
        let sales = self.path("sales");
        let registered = context.register_csv("sales", sales, CsvReadOptions::new()).await;
        registered.expect("cannot register the sales");
        self.register_products(context).await;
    }

    /// Registers the tables, the sales as Parquet files that the engine writes first.
    pub async fn register_parquet(&self, context: &SessionContext) {
        let sales = context.read_csv(self.path("sales"), CsvReadOptions::new()).await;
        let parquet = self.path("sales.parquet/");
        let written = sales.expect("cannot read the sales");
        let written = written.write_parquet(&parquet, Default::default(), None).await;
        written.expect("cannot write the Parquet files");
        assert!(fs::read_dir(&parquet).expect("no folder of Parquet files").next().is_some());
        let registered = context.register_parquet("sales", parquet, ParquetReadOptions::new());
        registered.await.expect("cannot register the Parquet files");
        self.register_products(context).await;
    }

    async fn register_products(&self, context: &SessionContext) {
        let products = self.path("products.csv");
        let registered = context.register_csv("products", products, CsvReadOptions::new()).await;
        registered.expect("cannot register the products");
    }

    fn path(&self, name: &str) -> String {
        self.folder.file(name).into_os_string().into_string().expect("a path of UTF-8")
    }

    /// Returns the queries, each with the rows that it must return.
    pub fn queries(&self) -> Vec<(&'static str, Vec<String>)> {
        vec![
            (SALES_BY_CATEGORY, self.sales_by_category()),
            (BEST_DAYS, self.best_days()),
            (NEVER_SOLD, self.never_sold()),
            (SORTED, self.sorted()),
        ]
    }

    fn sales_by_category(&self) -> Vec<String> {
        let mut amounts: BTreeMap<(String, u64), Vec<u64>> = BTreeMap::new();
        for sale in &self.sales {
            amounts.entry((category(sale.product), sale.store)).or_default().push(sale.amount);
        }
        let rows = amounts.into_iter().map(|((category, store), amounts)| {
            let sum: u64 = amounts.iter().sum();
            let (least, most) = (amounts.iter().min(), amounts.iter().max());
            let (least, most) = (least.expect("not empty"), most.expect("not empty"));
            format!("{category} {store} {} {sum} {least} {most}", amounts.len())
        });
        rows.collect()
    }

    fn best_days(&self) -> Vec<String> {
        let mut totals: BTreeMap<(u64, u64), u64> = BTreeMap::new();
        for sale in &self.sales {
            *totals.entry((sale.store, sale.day)).or_default() += sale.amount;
        }
        let of_store = |wanted| {
            let days = totals.iter().filter(move |((store, _), _)| *store == wanted);
            let mut days: Vec<_> = days.map(|((_, day), total)| (*total, *day)).collect();
            days.sort_by_key(|(total, day)| (u64::MAX - total, *day));
            days.into_iter().take(2).map(move |(total, day)| format!("{wanted} {day} {total}"))
        };
        (0..STORES).flat_map(of_store).collect()
    }

    fn never_sold(&self) -> Vec<String> {
        let in_store = self.sales.iter().filter(|sale| sale.store == SMALL_STORE);
        let sold: BTreeSet<u64> = in_store.map(|sale| sale.product).collect();
        (0..PRODUCTS).filter(|id| !sold.contains(id)).map(|id| id.to_string()).collect()
    }

    fn sorted(&self) -> Vec<String> {
        let mut sales = self.sales.clone();
        sales.sort_by_key(|sale| (sale.amount, sale.store, sale.day, sale.product));
        let row =
            |sale: Sale| format!("{} {} {} {}", sale.amount, sale.store, sale.day, sale.product);
        sales.into_iter().map(row).collect()
    }
}

impl Default for Shop {
    fn default() -> Shop {
        Shop::new()
    }
}

const SALES_BY_CATEGORY: &str = "
    SELECT category, store, count(*), sum(amount), min(amount), max(amount)
    FROM sales JOIN products ON sales.product = products.id
    GROUP BY category, store ORDER BY category, store";

const BEST_DAYS: &str = "
    SELECT store, day, total FROM (
        SELECT store, day, total,
            row_number() OVER (PARTITION BY store ORDER BY total DESC, day) AS place
        FROM (SELECT store, day, sum(amount) AS total FROM sales GROUP BY store, day)
    ) WHERE place <= 2 ORDER BY store, place";

const NEVER_SOLD: &str = "
    SELECT id FROM products
    WHERE NOT EXISTS (SELECT 1 FROM sales WHERE sales.product = products.id AND store = 3)
    ORDER BY id";

/// Sorts all sales.
pub const SORTED: &str =
    "SELECT amount, store, day, product FROM sales ORDER BY amount, store, day, product";

/// Returns the rows of a query's result, with spaces between the columns.
pub fn rows(batches: &[RecordBatch]) -> Vec<String> {
    let mut rows = Vec::new();
    for batch in batches {
        for row in 0..batch.num_rows() {
            let cells = batch
                .columns()
                .iter()
                .map(|column| array_value_to_string(column, row).expect("a cell can be printed"));
            rows.push(cells.collect::<Vec<_>>().join(" "));
        }
    }
    rows
}

/// Runs a query and returns its rows.
pub async fn query(context: &SessionContext, sql: &str) -> Vec<String> {
    let planned = context.sql(sql).await.unwrap_or_else(|why| panic!("{sql}: {why}"));
    rows(&planned.collect().await.unwrap_or_else(|why| panic!("{sql}: {why}")))
}

fn category(product: u64) -> String {
    format!("category-{}", product % CATEGORIES)
}

impl Sale {
    fn random(random: &mut Random) -> Sale {
        let store = random.below(STORES);
        let products = if store == SMALL_STORE { PRODUCTS / 2 } else { PRODUCTS };
        Sale {
            store,
            day: random.below(DAYS),
            product: random.below(products),
            amount: 1 + random.below(10_000),
        }
    }
}

/// A linear congruential generator with Knuth's constants.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % limit
    }
}
