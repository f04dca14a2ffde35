//! Options of UDP sockets.

use super::UdpSocket;
use socket2::SockRef;
use std::io;
use std::net::{Ipv4Addr, Ipv6Addr};

/// A getter and a setter of an option that the standard library's socket has under the same names.
macro_rules! options {
    ($($(#[$attribute:meta])* $get:ident, $set:ident: $type:ty;)+) => {$(
        $(#[$attribute])*
        ///
        /// # Errors
        /// If the kernel cannot tell.
        pub fn $get(&self) -> io::Result<$type> {
            self.io.$get()
        }

        #[doc = concat!("Sets [`", stringify!($get), "`](Self::", stringify!($get), ").")]
        ///
        /// # Errors
        /// If the kernel refuses it.
        pub fn $set(&self, value: $type) -> io::Result<()> {
            self.io.$set(value)
        }
    )+};
}

impl UdpSocket {
    options! {
        /// Whether it may send to broadcast addresses (`SO_BROADCAST`).
        broadcast, set_broadcast: bool;
        /// Whether what it sends to IPv4 groups comes back to this machine (`IP_MULTICAST_LOOP`).
        multicast_loop_v4, set_multicast_loop_v4: bool;
        /// How many routers a datagram to an IPv4 group may pass (`IP_MULTICAST_TTL`).
        multicast_ttl_v4, set_multicast_ttl_v4: u32;
        /// Whether what it sends to IPv6 groups comes back to this machine (`IPV6_MULTICAST_LOOP`).
        multicast_loop_v6, set_multicast_loop_v6: bool;
        /// How many routers an IPv4 packet may pass (`IP_TTL`).
        ttl, set_ttl: u32;
    }

    /// The class of IPv6 packets (`IPV6_TCLASS`).
    ///
    /// # Errors
    /// If the kernel cannot tell.
    #[cfg(not(any(target_os = "solaris", target_os = "illumos", target_os = "haiku")))]
    pub fn tclass_v6(&self) -> io::Result<u32> {
        SockRef::from(&*self.io).tclass_v6()
    }

    /// Sets [`tclass_v6`](Self::tclass_v6).
    ///
    /// # Errors
    /// If the kernel refuses it.
    #[cfg(not(any(target_os = "solaris", target_os = "illumos", target_os = "haiku")))]
    pub fn set_tclass_v6(&self, tclass: u32) -> io::Result<()> {
        SockRef::from(&*self.io).set_tclass_v6(tclass)
    }

    /// The type of service of IPv4 packets (`IP_TOS`).
    ///
    /// # Errors
    /// If the kernel cannot tell.
    #[cfg(not(any(target_os = "solaris", target_os = "illumos", target_os = "haiku")))]
    pub fn tos_v4(&self) -> io::Result<u32> {
        SockRef::from(&*self.io).tos_v4()
    }

    /// Sets [`tos_v4`](Self::tos_v4).
    ///
    /// # Errors
    /// If the kernel refuses it.
    #[cfg(not(any(target_os = "solaris", target_os = "illumos", target_os = "haiku")))]
    pub fn set_tos_v4(&self, tos: u32) -> io::Result<()> {
        SockRef::from(&*self.io).set_tos_v4(tos)
    }

    /// Former name of [`tos_v4`](Self::tos_v4).
    ///
    /// # Errors
    /// If the kernel cannot tell.
    #[doc(hidden)]
    #[deprecated(note = "it concerns IPv4 only, hence the new name `tos_v4`")]
    #[cfg(not(any(target_os = "solaris", target_os = "illumos", target_os = "haiku")))]
    pub fn tos(&self) -> io::Result<u32> {
        self.tos_v4()
    }

    /// Former name of [`set_tos_v4`](Self::set_tos_v4).
    ///
    /// # Errors
    /// If the kernel refuses it.
    #[doc(hidden)]
    #[deprecated(note = "it concerns IPv4 only, hence the new name `set_tos_v4`")]
    #[cfg(not(any(target_os = "solaris", target_os = "illumos", target_os = "haiku")))]
    pub fn set_tos(&self, tos: u32) -> io::Result<()> {
        self.set_tos_v4(tos)
    }

    /// The network interface it is bound to (`SO_BINDTODEVICE`), if any.
    ///
    /// # Errors
    /// If the kernel cannot tell.
    #[cfg(any(target_os = "android", target_os = "linux"))]
    pub fn device(&self) -> io::Result<Option<Vec<u8>>> {
        SockRef::from(&*self.io).device()
    }

    /// Binds it to a network interface, by its name, or to none any more.
    ///
    /// # Errors
    /// If the kernel refuses it.
    #[cfg(any(target_os = "android", target_os = "linux"))]
    pub fn bind_device(&self, interface: Option<&[u8]>) -> io::Result<()> {
        SockRef::from(&*self.io).bind_device(interface)
    }

    /// Joins an IPv4 group, on the interface that has the address `interface`; on one that the system
    /// chooses if that is `0.0.0.0`.
    ///
    /// # Errors
    /// If the kernel refuses it.
    ///
    /// ```
    /// # wakeful::runtime::Runtime::new().unwrap().block_on(async {
    /// use std::net::Ipv4Addr;
    /// use wakeful::net::UdpSocket;
    ///
    /// let socket = UdpSocket::bind("0.0.0.0:0").await?;
    /// let group = Ipv4Addr::new(239, 255, 0, 1);
    /// socket.join_multicast_v4(group, Ipv4Addr::LOCALHOST)?;
    /// socket.leave_multicast_v4(group, Ipv4Addr::LOCALHOST)?;
    /// # std::io::Result::Ok(()) }).unwrap();
    /// ```
    pub fn join_multicast_v4(&self, multiaddr: Ipv4Addr, interface: Ipv4Addr) -> io::Result<()> {
        self.io.join_multicast_v4(&multiaddr, &interface)
    }

    /// Joins an IPv6 group, on the interface of that index; on one that the system chooses if it is 0.
    ///
    /// # Errors
    /// If the kernel refuses it.
    pub fn join_multicast_v6(&self, multiaddr: &Ipv6Addr, interface: u32) -> io::Result<()> {
        self.io.join_multicast_v6(multiaddr, interface)
    }

    /// Leaves a group that it [joined](Self::join_multicast_v4).
    ///
    /// # Errors
    /// If the kernel refuses it.
    pub fn leave_multicast_v4(&self, multiaddr: Ipv4Addr, interface: Ipv4Addr) -> io::Result<()> {
        self.io.leave_multicast_v4(&multiaddr, &interface)
    }

    /// Leaves a group that it [joined](Self::join_multicast_v6).
    ///
    /// # Errors
    /// If the kernel refuses it.
    pub fn leave_multicast_v6(&self, multiaddr: &Ipv6Addr, interface: u32) -> io::Result<()> {
        self.io.leave_multicast_v6(multiaddr, interface)
    }

    /// The error that is pending on the socket, which is none afterwards.
    ///
    /// # Errors
    /// If the kernel cannot tell.
    pub fn take_error(&self) -> io::Result<Option<io::Error>> {
        self.io.take_error()
    }
}
