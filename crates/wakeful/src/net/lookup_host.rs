use super::addr::{ToSocketAddrs, resolve};
use std::io;
use std::net::SocketAddr;

/// Looks a name up, as all functions do that take a [`ToSocketAddrs`].
///
/// # Errors
/// If the name cannot be looked up.
///
/// ```
/// # wakeful::runtime::Runtime::new().unwrap().block_on(async {
/// for address in wakeful::net::lookup_host("localhost:80").await? {
///     assert_eq!(address.port(), 80);
/// }
/// # std::io::Result::Ok(()) }).unwrap();
/// ```
pub async fn lookup_host<T>(host: T) -> io::Result<impl Iterator<Item = SocketAddr>>
where
    T: ToSocketAddrs,
{
    resolve(host).await
}
