//! The tests of the fake cluster and of the null server, over HTTP.

mod calls;
mod faults;
mod null;
