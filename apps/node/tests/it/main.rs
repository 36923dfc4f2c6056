//! The worker node with real sandboxes: what jobs can and cannot do, and what survives whom.

#[cfg(test)]
mod durability;
#[cfg(test)]
mod fake;
#[cfg(test)]
mod incarnations;
#[cfg(test)]
mod isolation;
#[cfg(test)]
mod limits;
#[cfg(test)]
mod node;
#[cfg(test)]
mod phases;
#[cfg(test)]
mod stage;
#[cfg(test)]
mod supervisor;
#[cfg(test)]
mod talk;
#[cfg(test)]
mod workbench;
