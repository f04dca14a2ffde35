//! Ground floor of the Wakeful runtime.
