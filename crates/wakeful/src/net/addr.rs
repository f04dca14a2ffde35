//! Socket addresses, and names that resolve to them.

use std::future::{self, Future};
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV4, SocketAddrV6};
use std::option;
use std::vec;

#[cfg(feature = "net")]
mod names;

#[cfg(feature = "net")]
pub(super) use names::{first_success, no_address, resolve};

/// A value that resolves to one or more socket addresses.
///
/// Host names are resolved by the operating system, on the blocking pool. Strings that already are
/// addresses are parsed directly. This trait is sealed: it cannot be implemented outside this
/// crate.
///
/// | type | example |
/// |---|---|
/// | [`SocketAddr`], [`SocketAddrV4`], [`SocketAddrV6`] | |
/// | `(IpAddr, u16)`, `(Ipv4Addr, u16)`, `(Ipv6Addr, u16)` | `(Ipv4Addr::LOCALHOST, 80)` |
/// | `&[SocketAddr]` | tried in order |
/// | `str`, `String` | `"localhost:80"`, `"[::1]:80"` |
/// | `(&str, u16)`, `(String, u16)` | `("localhost", 80)` |
/// | references to these | |
///
/// ```
/// use std::net::{Ipv4Addr, SocketAddr};
/// use wakeful::net::{UdpSocket, lookup_host};
///
/// # wakeful::runtime::Runtime::new().unwrap().block_on(async {
/// let by_text = UdpSocket::bind("127.0.0.1:0").await?;
/// let by_parts = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).await?;
/// let by_name = UdpSocket::bind(("localhost", 0)).await?;
/// # drop((by_text, by_parts, by_name));
///
/// let several: [SocketAddr; 2] = ["127.0.0.1:1".parse().unwrap(), "127.0.0.1:2".parse().unwrap()];
/// assert_eq!(lookup_host(&several[..]).await?.count(), 2);
/// # std::io::Result::Ok(()) }).unwrap();
/// ```
pub trait ToSocketAddrs: sealed::Resolve {}

impl<T: ToSocketAddrs + ?Sized> ToSocketAddrs for &T {}

impl<T: sealed::Resolve + ?Sized> sealed::Resolve for &T {
    type Iter = T::Iter;
    type Future = T::Future;

    fn resolve(&self, token: sealed::Token) -> Self::Future {
        (**self).resolve(token)
    }
}

/// Implements the trait for types that convert to exactly one address.
macro_rules! one_address {
    ($($type:ty),+) => {$(
        impl ToSocketAddrs for $type {}

        impl sealed::Resolve for $type {
            type Iter = option::IntoIter<SocketAddr>;
            type Future = future::Ready<io::Result<Self::Iter>>;

            fn resolve(&self, _: sealed::Token) -> Self::Future {
                future::ready(Ok(Some(SocketAddr::from(*self)).into_iter()))
            }
        }
    )+};
}

one_address!(
    SocketAddr,
    SocketAddrV4,
    SocketAddrV6,
    (IpAddr, u16),
    (Ipv4Addr, u16),
    (Ipv6Addr, u16)
);

impl ToSocketAddrs for &[SocketAddr] {}

impl sealed::Resolve for &[SocketAddr] {
    type Iter = vec::IntoIter<SocketAddr>;
    type Future = future::Ready<io::Result<Self::Iter>>;

    fn resolve(&self, _: sealed::Token) -> Self::Future {
        future::ready(Ok(Vec::from(*self).into_iter()))
    }
}

/// The part of the trait that only this crate can implement and call.
mod sealed {
    use super::*;

    #[doc(hidden)]
    pub trait Resolve {
        type Iter: Iterator<Item = SocketAddr> + Send + 'static;
        type Future: Future<Output = io::Result<Self::Iter>> + Send + 'static;

        fn resolve(&self, token: Token) -> Self::Future;
    }

    #[expect(missing_debug_implementations, reason = "not reachable from outside this crate")]
    pub struct Token;
}
