//! Images from every source, and hostile ones.

#[cfg(test)]
mod fixture;
#[cfg(test)]
mod hostile_layers;
#[cfg(test)]
mod interruptions;
#[cfg(test)]
mod layers;
#[cfg(test)]
mod registries;
#[cfg(test)]
mod registry_server;
#[cfg(test)]
mod sources;
#[cfg(test)]
mod storage;
