//! The halves of Unix streams.

use super::{SocketAddr, UnixStream};
use crate::net::halves::halves;

halves!(UnixStream, SocketAddr, "# let (near, far) = wakeful::net::UnixStream::pair()?;");
