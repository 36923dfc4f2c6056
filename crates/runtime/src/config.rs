//! Configuration: flags, file, environment and defaults, in this order of strength.
//!
//! Each part of a process has a section of `cynode.toml` and a struct that implements
//! [`Section`]. A process reads all of its sections with [`load_all`], so that it can report every
//! fault at once instead of one at each start.
//!
//! Environment variables are named `CYNODE_<SECTION>__<KEY>`; their text is read as the type of
//! the default, lists by comma.

mod env;
mod faults;
mod layers;
mod sources;

use serde::Serialize;
use serde::de::DeserializeOwned;

pub use self::faults::{Complaint, Fault, Faults};
pub use self::sources::{Sources, data_dir};

/// Every section that some process has. A file may hold them all.
pub const SECTIONS: [&str; 7] =
    ["orchestrator", "gateway", "runner", "node", "log", "planner", "pma"];

/// One section of `cynode.toml`, such as `[runner]`.
///
/// The implementor carries `#[serde(default, deny_unknown_fields)]`: a section may name any part
/// of its keys, and no others.
pub trait Section: Serialize + DeserializeOwned + Default {
    /// The section's name, one of [`SECTIONS`].
    const NAME: &'static str;

    /// Environment variables that set a key under another name, as pairs of variable and key.
    const ENV_ALIASES: &'static [(&'static str, &'static str)] = &[];

    /// Every value that is out of range.
    fn faults(&self) -> Vec<Fault>;
}

/// Reads one section: flag, else file, else environment, else default.
pub fn load<S: Section>(sources: &Sources) -> Result<S, Faults> {
    layers::section(sources)
}

/// Reads several sections, as a tuple, and reports the faults of all of them together.
pub fn load_all<T: Sections>(sources: &Sources) -> Result<T, Faults> {
    T::load(sources)
}

/// Several sections at once; implemented for tuples of [`Section`].
pub trait Sections: Sized {
    /// Reads them all; the error holds the faults of all of them.
    fn load(sources: &Sources) -> Result<Self, Faults>;
}

macro_rules! tuple_of_sections {
    ($($section:ident $value:ident),+) => {
        impl<$($section: Section),+> Sections for ($($section,)+) {
            fn load(sources: &Sources) -> Result<Self, Faults> {
                let mut faults = Faults::default();
                $(let $value = faults.keep(load::<$section>(sources));)+
                match ($($value,)+) {
                    ($(Some($value),)+) => Ok(($($value,)+)),
                    _ => Err(faults),
                }
            }
        }
    };
}

tuple_of_sections!(A a);
tuple_of_sections!(A a, B b);
tuple_of_sections!(A a, B b, C c);
tuple_of_sections!(A a, B b, C c, D d);

#[cfg(test)]
mod tests;
