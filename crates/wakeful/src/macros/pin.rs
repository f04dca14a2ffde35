/// Pins values on the stack. Each name is rebound to a `Pin<&mut _>` of its value.
///
/// ```
/// # wakeful::runtime::Runtime::new().unwrap().block_on(async {
/// let future = async { 1 };
/// wakeful::pin!(future);
/// assert_eq!((&mut future).await, 1);
///
/// wakeful::pin! {
///     let other = async { 2 };
/// }
/// assert_eq!(other.await, 2);
/// # });
/// ```
#[macro_export]
macro_rules! pin {
    ($($name:ident),* $(,)?) => { $(
        // Move the value into a new local, so that no other name for it remains.
        let mut $name = $name;
        // SAFETY: the new binding shadows the local, so no code can move the value until it is
        // dropped at the end of its scope.
        #[allow(unused_mut)]
        let mut $name = unsafe { $crate::macros::support::Pin::new_unchecked(&mut $name) };
    )* };
    ($( let $name:ident = $value:expr; )*) => { $(
        let $name = $value;
        $crate::pin!($name);
    )* };
}
