//! Mistakes in the functions themselves.

#[wakeful::main]
async fn wrong_type() -> u32 {
    let text = "four";
    text //~ mismatched types
}

#[wakeful::main]
async fn nothing_to_return() -> u32 { //~ mismatched types
    let _ = 4;
}

#[wakeful::main]
async fn question_mark() {
    "4".parse::<u32>()?; //~ the `?` operator can only be used in an async block that returns `Result` or `Option`
}

#[wakeful::main]
async fn no_future() {
    4.await; //~ `{integer}` is not a future
}

#[wakeful::test]
async fn wrong_type_in_a_test() -> Result<(), String> {
    Ok(4) //~ mismatched types
}

#[wakeful::test]
async fn no_result() -> u32 { 4 } //~ the trait bound `u32: Termination` is not satisfied

fn main() {}
