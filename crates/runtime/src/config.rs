//! Configuration from flags, file, environment and defaults, in this order of precedence.
//!
//! Each component has a section of `cynode.toml` and a struct that implements [`ConfigSection`]. A process
//! loads all of its sections with [`load_all`], which reports all errors at once.
//!
//! Environment variables are named `CYNODE_<SECTION>__<KEY>`; their text is parsed as the type of
//! the default, lists separated by commas.

mod env;
mod errors;
mod layers;
mod sources;

use serde::Serialize;
use serde::de::DeserializeOwned;

pub use self::errors::{ConfigError, ConfigErrors, ConfigFault};
pub use self::sources::{ConfigSources, data_dir};

/// The sections of all processes. A file may contain all of them.
pub const SECTIONS: [&str; 7] =
    ["orchestrator", "gateway", "runner", "node", "log", "planner", "pma"];

/// One section of `cynode.toml`, such as `[runner]`.
///
/// The implementor has `#[serde(default, deny_unknown_fields)]`: every key is optional, and unknown
/// keys are errors.
pub trait ConfigSection: Serialize + DeserializeOwned + Default {
    /// One of [`SECTIONS`].
    const NAME: &'static str;

    /// Aliases, as pairs of environment variable and key.
    const ENV_ALIASES: &'static [(&'static str, &'static str)] = &[];

    /// Validates the values; returns every one that is out of range.
    fn validate(&self) -> Vec<ConfigFault>;
}

/// Loads one section: flag, else file, else environment, else default.
pub fn load<S: ConfigSection>(sources: &ConfigSources) -> Result<S, ConfigErrors> {
    layers::load_section(sources)
}

/// Loads several sections as a tuple; the error contains the faults of all of them.
pub fn load_all<T: ConfigSections>(sources: &ConfigSources) -> Result<T, ConfigErrors> {
    T::load(sources)
}

/// Implemented for tuples of [`ConfigSection`].
pub trait ConfigSections: Sized {
    /// Loads all sections; the error contains the faults of all of them.
    fn load(sources: &ConfigSources) -> Result<Self, ConfigErrors>;
}

macro_rules! tuple_of_sections {
    ($($section:ident $value:ident),+) => {
        impl<$($section: ConfigSection),+> ConfigSections for ($($section,)+) {
            fn load(sources: &ConfigSources) -> Result<Self, ConfigErrors> {
                let mut faults = ConfigErrors::default();
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
