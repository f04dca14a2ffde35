//! Scripts that once showed a difference, cut down.

use wakeful_fuzz::{Place, check};
