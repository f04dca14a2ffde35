//! Wrong arguments of `join!` and `try_join!`.

async fn not_a_future() {
    wakeful::join!( //~ `{integer}` is not a future
        number(),
        4, //~ `{integer}` is not a future
    );
}

async fn not_a_result() {
    let _: Result<_, ()> = wakeful::try_join!(number()); //~ expected `impl Future<Output = u32>` to be a future that resolves to `Result<_, _>`, but it resolves to `u32`
}

async fn errors_differ() {
    let _ = wakeful::try_join!(
        async { Err::<(), _>(1) },
        async { Err::<(), _>("no") }, //~ mismatched types
    );
}

fn not_async() {
    wakeful::join!(number()); //~ `await` is only allowed inside `async` functions and blocks
}

async fn number() -> u32 {
    4
}

fn main() {}
