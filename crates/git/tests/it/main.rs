//! Integration tests with the real git program.

#[cfg(test)]
mod attacks;
#[cfg(test)]
mod bundles;
#[cfg(test)]
mod checkouts;
#[cfg(test)]
mod collecting;
#[cfg(test)]
mod credentials;
#[cfg(test)]
mod fixture;
#[cfg(test)]
mod garbage;
#[cfg(test)]
mod hostile_jobs;
#[cfg(test)]
mod hostile_remotes;
#[cfg(test)]
mod interruptions;
#[cfg(test)]
mod mirrors;
#[cfg(test)]
mod policies;
#[cfg(test)]
mod pushes;
#[cfg(test)]
mod source_faults;
#[cfg(test)]
mod sources;
