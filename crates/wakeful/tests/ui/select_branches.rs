//! Syntax errors in the branches of `select!`.

async fn branches() {
    wakeful::select! {} //~ select! requires at least one branch or an `else` branch.

    wakeful::select! {
        work() => {} //~ a branch of `select!` is `pattern = future => handler`, and there is no `=` here
    }

    wakeful::select! {
        _ = work() => {}
        _ = work(), //~ a branch of `select!` is `pattern = future => handler`, and there is no `=>` here
    }

    wakeful::select! {
        _ = work(), if true, //~ there is no `=>` behind this `if`
    }

    wakeful::select! {
        _ = work() => //~ there is no handler behind this `=>`
    }

    wakeful::select! {
        else => {}
        _ = work() => {} //~ `else` has to be the last branch
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
