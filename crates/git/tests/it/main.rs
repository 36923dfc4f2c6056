//! Integration tests with the real git program.

#[cfg(test)]
mod bundles;
#[cfg(test)]
mod checkouts;
#[cfg(test)]
mod collecting;
#[cfg(test)]
mod fixture;
#[cfg(test)]
mod mirrors;
#[cfg(test)]
mod policies;
