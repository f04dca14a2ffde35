//! Host names, which are resolved on the blocking pool.

use super::ToSocketAddrs;
use super::sealed::{Resolve, Token};
use std::future::Future;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::option;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::vec;
use wakeful_runtime::task::{JoinHandle, try_spawn_blocking};

/// Resolves `name` to its addresses.
pub(in crate::net) fn resolve<T: ToSocketAddrs>(name: T) -> T::Future {
    name.resolve(Token)
}

/// Calls `attempt` with the addresses of `name`, in order, until it succeeds.
///
/// # Errors
/// Returns the last error of `attempt`, or an error if `name` resolves to no address.
pub(in crate::net) async fn first_success<A, R>(
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

/// Returns the error for a name that resolved to no address.
pub(in crate::net) fn no_address() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, "could not resolve to any address")
}

impl ToSocketAddrs for str {}

impl Resolve for str {
    type Iter = OneOrMore;
    type Future = MaybeReady;

    fn resolve(&self, _: Token) -> Self::Future {
        if let Ok(address) = self.parse() {
            return MaybeReady::known(address);
        }
        let name = self.to_owned();
        MaybeReady::look_up(move || std::net::ToSocketAddrs::to_socket_addrs(&name))
    }
}

impl ToSocketAddrs for (&str, u16) {}

impl Resolve for (&str, u16) {
    type Iter = OneOrMore;
    type Future = MaybeReady;

    fn resolve(&self, _: Token) -> Self::Future {
        let (host, port) = *self;
        if let Ok(ip) = host.parse::<IpAddr>() {
            return MaybeReady::known((ip, port).into());
        }
        let name = (host.to_owned(), port);
        MaybeReady::look_up(move || std::net::ToSocketAddrs::to_socket_addrs(&name))
    }
}

impl ToSocketAddrs for (String, u16) {}

impl Resolve for (String, u16) {
    type Iter = OneOrMore;
    type Future = MaybeReady;

    fn resolve(&self, token: Token) -> Self::Future {
        (self.0.as_str(), self.1).resolve(token)
    }
}

impl ToSocketAddrs for String {}

impl Resolve for String {
    type Iter = OneOrMore;
    type Future = MaybeReady;

    fn resolve(&self, token: Token) -> Self::Future {
        self.as_str().resolve(token)
    }
}

/// The future of `ToSocketAddrs::resolve`: ready at once, or waiting for the blocking pool.
#[derive(Debug)]
pub struct MaybeReady(Lookup);

#[derive(Debug)]
enum Lookup {
    Known(Option<SocketAddr>),
    Pending(JoinHandle<io::Result<vec::IntoIter<SocketAddr>>>),
    /// The blocking pool could not start a thread. The error is taken when polled.
    Failed(Option<io::Error>),
}

#[derive(Debug)]
pub enum OneOrMore {
    One(option::IntoIter<SocketAddr>),
    More(vec::IntoIter<SocketAddr>),
}

impl MaybeReady {
    fn known(address: SocketAddr) -> MaybeReady {
        MaybeReady(Lookup::Known(Some(address)))
    }

    fn look_up<F>(lookup: F) -> MaybeReady
    where
        F: FnOnce() -> io::Result<vec::IntoIter<SocketAddr>> + Send + 'static,
    {
        MaybeReady(match try_spawn_blocking("net::lookup_host", lookup) {
            Ok(lookup) => Lookup::Pending(lookup),
            Err(error) => Lookup::Failed(Some(error)),
        })
    }
}

impl Future for MaybeReady {
    type Output = io::Result<OneOrMore>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        Poll::Ready(match &mut self.0 {
            Lookup::Known(address) => Ok(OneOrMore::One(address.take().into_iter())),
            Lookup::Failed(error) => {
                Err(error.take().expect("`ToSocketAddrs` future polled after completion"))
            }
            Lookup::Pending(lookup) => ready!(Pin::new(lookup).poll(cx))?.map(OneOrMore::More),
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
