//! Thinking over the wire, against a provider that follows a script.

mod faults;
