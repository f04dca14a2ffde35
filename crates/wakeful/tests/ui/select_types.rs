//! Type errors in the branches of `select!`.

async fn handlers_differ() {
    let _: u32 = wakeful::select! {
        n = number() => n,
        _ = number() => "four", //~ `match` arms have incompatible types
    };
}

async fn pattern_does_not_fit() {
    wakeful::select! {
        Some(_) = number() => {} //~ mismatched types
        else => {}
    }
}

async fn not_a_future() {
    wakeful::select! { //~ `{integer}` is not a future
        _ = 4 => {} //~ `{integer}` is not a future
    }
}

async fn condition_is_no_condition() {
    wakeful::select! {
        _ = number(), if "yes" => {} //~ mismatched types
    }
}

async fn unknown_name() {
    wakeful::select! {
        n = number() => drop(m), //~ cannot find value `m` in this scope
    }
}

fn not_async() {
    wakeful::select! { //~ `await` is only allowed inside `async` functions and blocks
        _ = number() => {}
    }
}

async fn number() -> u32 {
    4
}

fn main() {}
