//! Syntax errors in the branches of `select!`.

async fn branches() {
    wakeful::select! {} //~ select! requires at least one branch or an `else` branch.

    wakeful::select! {
        work() => {} //~ a branch of `select!` must be `pattern = future => handler`, but `=` is missing
    }

    wakeful::select! {
        _ = work() => {}
        _ = work(), //~ a branch of `select!` must be `pattern = future => handler`, but `=>` is missing
    }

    wakeful::select! {
        _ = work(), if true, //~ expected `=>` after this `if` condition
    }

    wakeful::select! {
        _ = work() => //~ expected a handler after this `=>`
    }

    wakeful::select! {
        else => {}
        _ = work() => {} //~ `else` must be the last branch
    }

    wakeful::select! { //~ up to 64 branches supported
        _ = work() => {} _ = work() => {} _ = work() => {} _ = work() => {} _ = work() => {}
        _ = work() => {} _ = work() => {} _ = work() => {} _ = work() => {} _ = work() => {}
        _ = work() => {} _ = work() => {} _ = work() => {} _ = work() => {} _ = work() => {}
        _ = work() => {} _ = work() => {} _ = work() => {} _ = work() => {} _ = work() => {}
        _ = work() => {} _ = work() => {} _ = work() => {} _ = work() => {} _ = work() => {}
        _ = work() => {} _ = work() => {} _ = work() => {} _ = work() => {} _ = work() => {}
        _ = work() => {} _ = work() => {} _ = work() => {} _ = work() => {} _ = work() => {}
        _ = work() => {} _ = work() => {} _ = work() => {} _ = work() => {} _ = work() => {}
        _ = work() => {} _ = work() => {} _ = work() => {} _ = work() => {} _ = work() => {}
        _ = work() => {} _ = work() => {} _ = work() => {} _ = work() => {} _ = work() => {}
        _ = work() => {} _ = work() => {} _ = work() => {} _ = work() => {} _ = work() => {}
        _ = work() => {} _ = work() => {} _ = work() => {} _ = work() => {} _ = work() => {}
        _ = work() => {} _ = work() => {} _ = work() => {} _ = work() => {} _ = work() => {}
    }
}

async fn work() {}

fn main() {}
