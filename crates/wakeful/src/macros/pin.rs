/// Pins values on the stack: each name then stands for a `Pin<&mut _>`.
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
        // Moved here first: nobody else can reach it any more.
        let mut $name = $name;
        // SAFETY: the new name hides the value itself, which stays where it is until it is dropped.
        #[allow(unused_mut)]
        let mut $name = unsafe { $crate::macros::support::Pin::new_unchecked(&mut $name) };
    )* };
    ($( let $name:ident = $value:expr; )*) => { $(
        let $name = $value;
        $crate::pin!($name);
    )* };
}
