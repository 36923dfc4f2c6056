//! Tests of upstream connections, with well-behaved and faulty servers.

mod bridging;
mod discovery;
mod fake;
mod http;
mod http_faults;
mod internal_networks;
mod mirrored_headers;
mod processes;
mod standing_stream;
mod world;
