//! The address of the service: always on loopback.

use std::io;
use std::net::Ipv4Addr;
use wakeful::net::TcpListener;

/// Tried one after another if the command line gives no port.
pub const USUAL_PORTS: std::ops::RangeInclusive<u16> = 8080..=8099;

/// Binds to the first of `ports` that is free.
pub async fn first_free(ports: impl IntoIterator<Item = u16>) -> io::Result<TcpListener> {
    let mut taken = io::Error::from(io::ErrorKind::AddrInUse);
    for port in ports {
        match TcpListener::bind((Ipv4Addr::LOCALHOST, port)).await {
            Err(why) if why.kind() == io::ErrorKind::AddrInUse => taken = why,
            bound_or_hopeless => return bound_or_hopeless,
        }
    }
    Err(taken)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[wakeful::test]
    async fn a_port_in_use_is_skipped() {
        let other = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
        let taken = other.local_addr().unwrap().port();
        let ours = first_free([taken, 0]).await.unwrap().local_addr().unwrap();
        assert!(ours.ip().is_loopback());
        assert_ne!(ours.port(), taken);
    }

    #[wakeful::test]
    async fn if_all_ports_are_in_use_that_is_the_error() {
        let other = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
        let taken = other.local_addr().unwrap().port();
        let why = first_free([taken]).await.unwrap_err();
        assert_eq!(why.kind(), io::ErrorKind::AddrInUse);
    }
}
