//! Jobs limited by the kernel: cgroup v2 with real controllers, which few machines leave to a test.
//!
//! `cargo xtask vm` boots a virtual machine whose only hierarchy is version 2, and runs these tests there as root and as
//! an ordinary user with a delegated cgroup. Other test runs leave them out (`.config/nextest.toml`).

#[cfg(test)]
mod cgroup_files;
#[cfg(test)]
mod hostile;
#[cfg(test)]
mod lifecycle;
#[cfg(test)]
mod neighbours;
#[cfg(test)]
mod refusals;
#[cfg(test)]
#[expect(dead_code, reason = "other tests use more of it")]
#[path = "../it/workbench.rs"]
mod workbench;
