//! Whole jobs: a scripted model over HTTP, real files and a real shell.

#[cfg(test)]
mod context;
#[cfg(test)]
mod direct_steps;
#[cfg(test)]
mod formats;
#[cfg(test)]
mod granted_tools;
#[cfg(test)]
mod harness;
#[cfg(test)]
mod instructions;
#[cfg(test)]
mod recovery;
#[cfg(test)]
mod stops;
