//! Servers that are processes.
