use super::addr::{ToSocketAddrs, resolve};
use std::io;
use std::net::SocketAddr;

/// Resolves a host name, in the same way as every function that takes a [`ToSocketAddrs`].
///
/// # Errors
/// Returns an error if the name cannot be resolved.
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
