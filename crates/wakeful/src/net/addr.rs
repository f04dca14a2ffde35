//! Addresses, and names that stand for some.

use std::future::{self, Future};
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV4, SocketAddrV6};
use std::option;
use std::vec;

/// An address, or a name that has one or more.
///
/// Names are looked up on the blocking pool, as the operating system does it; a string that is an
/// address already needs no looking up. This trait cannot be implemented elsewhere.
///
/// | type | example |
/// |---|---|
/// | [`SocketAddr`], [`SocketAddrV4`], [`SocketAddrV6`] | |
/// | `(IpAddr, u16)`, `(Ipv4Addr, u16)`, `(Ipv6Addr, u16)` | `(Ipv4Addr::LOCALHOST, 80)` |
/// | `&[SocketAddr]` | tried one after the other |
/// | `str`, `String` | `"localhost:80"`, `"[::1]:80"` |
/// | `(&str, u16)`, `(String, u16)` | `("localhost", 80)` |
/// | references to these | |
pub trait ToSocketAddrs: sealed::Resolve {}

/// The addresses that `name` stands for.
pub(super) fn resolve<T: ToSocketAddrs>(name: T) -> T::Future {
    name.resolve(sealed::Token)
}

/// Calls `attempt` with the addresses of `name` until it succeeds.
///
/// # Errors
/// The last of its errors; or that there is no address.
pub(super) async fn first_that_works<A, R>(
    name: A,
    mut attempt: impl FnMut(SocketAddr) -> io::Result<R>,
) -> io::Result<R>
where
    A: ToSocketAddrs,
{
    let mut last_error = None;
    for address in resolve(name).await? {
        match attempt(address) {
            Ok(result) => return Ok(result),
            Err(error) => last_error = Some(error),
        }
    }
    Err(last_error.unwrap_or_else(no_address))
}

/// A name stood for nothing at all.
pub(super) fn no_address() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, "could not resolve to any address")
}

impl<T: ToSocketAddrs + ?Sized> ToSocketAddrs for &T {}

impl<T: sealed::Resolve + ?Sized> sealed::Resolve for &T {
    type Iter = T::Iter;
    type Future = T::Future;

    fn resolve(&self, token: sealed::Token) -> Self::Future {
        (**self).resolve(token)
    }
}

/// Types that are one address.
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

impl ToSocketAddrs for str {}

impl sealed::Resolve for str {
    type Iter = sealed::OneOrMore;
    type Future = sealed::MaybeReady;

    fn resolve(&self, _: sealed::Token) -> Self::Future {
        if let Ok(address) = self.parse() {
            return sealed::MaybeReady::known(address);
        }
        let name = self.to_owned();
        sealed::MaybeReady::looked_up(move || std::net::ToSocketAddrs::to_socket_addrs(&name))
    }
}

impl ToSocketAddrs for (&str, u16) {}

impl sealed::Resolve for (&str, u16) {
    type Iter = sealed::OneOrMore;
    type Future = sealed::MaybeReady;

    fn resolve(&self, _: sealed::Token) -> Self::Future {
        let (host, port) = *self;
        if let Ok(ip) = host.parse::<IpAddr>() {
            return sealed::MaybeReady::known((ip, port).into());
        }
        let name = (host.to_owned(), port);
        sealed::MaybeReady::looked_up(move || std::net::ToSocketAddrs::to_socket_addrs(&name))
    }
}

impl ToSocketAddrs for (String, u16) {}

impl sealed::Resolve for (String, u16) {
    type Iter = sealed::OneOrMore;
    type Future = sealed::MaybeReady;

    fn resolve(&self, token: sealed::Token) -> Self::Future {
        (self.0.as_str(), self.1).resolve(token)
    }
}

impl ToSocketAddrs for String {}

impl sealed::Resolve for String {
    type Iter = sealed::OneOrMore;
    type Future = sealed::MaybeReady;

    fn resolve(&self, token: sealed::Token) -> Self::Future {
        self.as_str().resolve(token)
    }
}

/// What only we can implement, or call.
mod sealed {
    use super::*;
    use std::pin::Pin;
    use std::task::{Context, Poll, ready};
    use wakeful_runtime::task::{JoinHandle, spawn_blocking};

    #[doc(hidden)]
    pub trait Resolve {
        type Iter: Iterator<Item = SocketAddr> + Send + 'static;
        type Future: Future<Output = io::Result<Self::Iter>> + Send + 'static;

        fn resolve(&self, token: Token) -> Self::Future;
    }

    #[expect(missing_debug_implementations, reason = "nobody outside gets hold of one")]
    pub struct Token;

    /// Addresses that are known, or being looked up.
    #[derive(Debug)]
    pub struct MaybeReady(Lookup);

    #[derive(Debug)]
    enum Lookup {
        Known(Option<SocketAddr>),
        UnderWay(JoinHandle<io::Result<vec::IntoIter<SocketAddr>>>),
    }

    #[derive(Debug)]
    pub enum OneOrMore {
        One(option::IntoIter<SocketAddr>),
        More(vec::IntoIter<SocketAddr>),
    }

    impl MaybeReady {
        pub(super) fn known(address: SocketAddr) -> MaybeReady {
            MaybeReady(Lookup::Known(Some(address)))
        }

        pub(super) fn looked_up<F>(lookup: F) -> MaybeReady
        where
            F: FnOnce() -> io::Result<vec::IntoIter<SocketAddr>> + Send + 'static,
        {
            MaybeReady(Lookup::UnderWay(spawn_blocking(lookup)))
        }
    }

    impl Future for MaybeReady {
        type Output = io::Result<OneOrMore>;

        fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
            Poll::Ready(match &mut self.0 {
                Lookup::Known(address) => Ok(OneOrMore::One(address.take().into_iter())),
                Lookup::UnderWay(lookup) => ready!(Pin::new(lookup).poll(cx))?.map(OneOrMore::More),
            })
        }
    }

    impl Iterator for OneOrMore {
        type Item = SocketAddr;

        fn next(&mut self) -> Option<SocketAddr> {
            match self {
                OneOrMore::One(one) => one.next(),
                OneOrMore::More(more) => more.next(),
            }
        }

        fn size_hint(&self) -> (usize, Option<usize>) {
            match self {
                OneOrMore::One(one) => one.size_hint(),
                OneOrMore::More(more) => more.size_hint(),
            }
        }
    }
}
