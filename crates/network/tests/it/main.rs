//! Tests of the proxy over real connections.

mod proxy;
mod support;
