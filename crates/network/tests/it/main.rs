//! Tests of the proxy over real connections.

#[cfg(test)]
mod proxy;
#[cfg(test)]
mod support;
