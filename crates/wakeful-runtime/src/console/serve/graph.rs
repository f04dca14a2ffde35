//! Which actor waits for which object, and which one holds it.
