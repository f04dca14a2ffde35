//! Items that `#[main]` and `#[test]` reject.

#[wakeful::main]
fn not_async() {} //~ the `async` keyword is missing from the function declaration

#[wakeful::test]
pub fn not_async_either() {} //~ the `async` keyword is missing from the function declaration

#[wakeful::main]
struct NotAFunction; //~ the `async` keyword is missing from the function declaration

#[wakeful::test]
#[test] //~ second test attribute is supplied, consider removing or changing the order of your test attributes
async fn twice_a_test() {}

#[wakeful::test]
#[std::prelude::v1::test] //~ second test attribute is supplied, consider removing or changing the order of your test attributes
async fn twice_a_test_by_path() {}

#[wakeful::main]
async fn main(arguments: Vec<String>) { //~ the main function cannot accept arguments
    drop(arguments);
}
