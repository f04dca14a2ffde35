//! The options of UDP sockets.

use super::UdpSocket;
use socket2::SockRef;
use std::io;
use std::net::{Ipv4Addr, Ipv6Addr};

/// Defines the getter and the setter of an option that the standard library's socket names the
/// same.
macro_rules! options {
    ($($(#[$attribute:meta])* $get:ident, $set:ident: $type:ty;)+) => {$(
        $(#[$attribute])*
        ///
        /// # Errors
        /// Returns an error if the system call fails.
        pub fn $get(&self) -> io::Result<$type> {
            self.io.$get()
        }

        #[doc = concat!("Sets [`", stringify!($get), "`](Self::", stringify!($get), ").")]
        ///
        /// # Errors
        /// Returns an error if the kernel rejects the value.
        pub fn $set(&self, value: $type) -> io::Result<()> {
            self.io.$set(value)
        }
    )+};
}

impl UdpSocket {
    options! {
        /// Returns whether the socket may send to broadcast addresses (`SO_BROADCAST`).
        broadcast, set_broadcast: bool;
        /// Returns whether datagrams to IPv4 groups are looped back to this machine
        /// (`IP_MULTICAST_LOOP`).
        multicast_loop_v4, set_multicast_loop_v4: bool;
        /// Returns the number of hops a datagram to an IPv4 group may take (`IP_MULTICAST_TTL`).
        multicast_ttl_v4, set_multicast_ttl_v4: u32;
        /// Returns whether datagrams to IPv6 groups are looped back to this machine
        /// (`IPV6_MULTICAST_LOOP`).
        multicast_loop_v6, set_multicast_loop_v6: bool;
        /// Returns the number of hops an IPv4 packet may take (`IP_TTL`).
        ttl, set_ttl: u32;
    }

    /// Returns the traffic class of IPv6 packets (`IPV6_TCLASS`).
    ///
    /// # Errors
    /// Returns an error if the system call fails.
    #[cfg(not(any(target_os = "solaris", target_os = "illumos", target_os = "haiku")))]
    pub fn tclass_v6(&self) -> io::Result<u32> {
        SockRef::from(&*self.io).tclass_v6()
    }

    /// Sets [`tclass_v6`](Self::tclass_v6).
    ///
    /// # Errors
    /// Returns an error if the kernel rejects the value.
    #[cfg(not(any(target_os = "solaris", target_os = "illumos", target_os = "haiku")))]
    pub fn set_tclass_v6(&self, tclass: u32) -> io::Result<()> {
        SockRef::from(&*self.io).set_tclass_v6(tclass)
    }

    /// Returns the type of service of IPv4 packets (`IP_TOS`).
    ///
    /// # Errors
    /// Returns an error if the system call fails.
    #[cfg(not(any(target_os = "solaris", target_os = "illumos", target_os = "haiku")))]
    pub fn tos_v4(&self) -> io::Result<u32> {
        SockRef::from(&*self.io).tos_v4()
    }

    /// Sets [`tos_v4`](Self::tos_v4).
    ///
    /// # Errors
    /// Returns an error if the kernel rejects the value.
    #[cfg(not(any(target_os = "solaris", target_os = "illumos", target_os = "haiku")))]
    pub fn set_tos_v4(&self, tos: u32) -> io::Result<()> {
        SockRef::from(&*self.io).set_tos_v4(tos)
    }

    /// The former name of [`tos_v4`](Self::tos_v4).
    ///
    /// # Errors
    /// Returns an error if the system call fails.
    #[doc(hidden)]
    #[deprecated(note = "renamed to `tos_v4`: it applies to IPv4 only")]
    #[cfg(not(any(target_os = "solaris", target_os = "illumos", target_os = "haiku")))]
    pub fn tos(&self) -> io::Result<u32> {
        self.tos_v4()
    }

    /// The former name of [`set_tos_v4`](Self::set_tos_v4).
    ///
    /// # Errors
    /// Returns an error if the kernel rejects the value.
    #[doc(hidden)]
    #[deprecated(note = "renamed to `set_tos_v4`: it applies to IPv4 only")]
    #[cfg(not(any(target_os = "solaris", target_os = "illumos", target_os = "haiku")))]
    pub fn set_tos(&self, tos: u32) -> io::Result<()> {
        self.set_tos_v4(tos)
    }

    /// Returns the network interface that the socket is bound to (`SO_BINDTODEVICE`), if any.
    ///
    /// # Errors
    /// Returns an error if the system call fails.
    #[cfg(any(target_os = "android", target_os = "linux"))]
    pub fn device(&self) -> io::Result<Option<Vec<u8>>> {
        SockRef::from(&*self.io).device()
    }

    /// Binds the socket to the network interface of that name; `None` removes the binding.
    ///
    /// # Errors
    /// Returns an error if the kernel rejects the value.
    #[cfg(any(target_os = "android", target_os = "linux"))]
    pub fn bind_device(&self, interface: Option<&[u8]>) -> io::Result<()> {
        SockRef::from(&*self.io).bind_device(interface)
    }

    /// Joins an IPv4 multicast group on the interface with the address `interface`.
    ///
    /// If `interface` is `0.0.0.0`, the operating system chooses one.
    ///
    /// # Errors
    /// Returns an error if the kernel rejects the value.
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

    /// Joins an IPv6 multicast group on the interface with that index.
    ///
    /// If it is 0, the operating system chooses one.
    ///
    /// # Errors
    /// Returns an error if the kernel rejects the value.
    pub fn join_multicast_v6(&self, multiaddr: &Ipv6Addr, interface: u32) -> io::Result<()> {
        self.io.join_multicast_v6(multiaddr, interface)
    }

    /// Leaves a group that the socket [joined](Self::join_multicast_v4).
    ///
    /// # Errors
    /// Returns an error if the kernel rejects the value.
    pub fn leave_multicast_v4(&self, multiaddr: Ipv4Addr, interface: Ipv4Addr) -> io::Result<()> {
        self.io.leave_multicast_v4(&multiaddr, &interface)
    }

    /// Leaves a group that the socket [joined](Self::join_multicast_v6).
    ///
    /// # Errors
    /// Returns an error if the kernel rejects the value.
    pub fn leave_multicast_v6(&self, multiaddr: &Ipv6Addr, interface: u32) -> io::Result<()> {
        self.io.leave_multicast_v6(multiaddr, interface)
    }

    /// Returns the pending error of the socket (`SO_ERROR`), and clears it.
    ///
    /// # Errors
    /// Returns an error if the system call fails.
    pub fn take_error(&self) -> io::Result<Option<io::Error>> {
        self.io.take_error()
    }
}
