//! The environment of child processes: empty except for an explicit allowlist.
//!
//! Every process of the product that spawns another calls [`ChildEnv::inherit_only`], so that a variable
//! set for one process, such as a provider key or a database password, is never inherited by another.

use std::ffi::OsString;

use crate::config::ConfigSection;
use crate::failpoint;

/// Variables for locale, time zone, temporary files and diagnostics. None of them holds a secret.
const PROCESS_VARS: [&str; 7] =
    ["LANG", "LC_ALL", "LC_CTYPE", "TZ", "TMPDIR", "RUST_BACKTRACE", failpoint::DIRECTORY_VAR];

/// The variables of this process that a child inherits.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Allowlist {
    names: Vec<&'static str>,
    prefixes: Vec<String>,
}

impl Allowlist {
    pub fn none() -> Self {
        Self::default()
    }

    /// The variables of a process of the product: locale, time zone, temporary directory, backtraces.
    pub fn for_process() -> Self {
        Self::none().names(&PROCESS_VARS)
    }

    /// Adds variables by name.
    #[must_use]
    pub fn names(mut self, names: &[&'static str]) -> Self {
        self.names.extend(names);
        self
    }

    /// Adds the variables that configure a section: `CYNODE_<SECTION>__*` and its aliases.
    #[must_use]
    pub fn with_section<S: ConfigSection>(mut self) -> Self {
        self.names.extend(S::ENV_ALIASES.iter().map(|(name, _)| *name));
        self.prefixes.push(format!("CYNODE_{}__", S::NAME.to_ascii_uppercase()));
        self
    }

    /// Whether a child inherits the variable.
    pub fn admits(&self, name: &str) -> bool {
        self.names.contains(&name) || self.prefixes.iter().any(|prefix| name.starts_with(prefix))
    }

    /// The variables of this process that a child inherits, with their values.
    fn inherited_vars(&self) -> impl Iterator<Item = (OsString, OsString)> {
        std::env::vars_os().filter(|(name, _)| name.to_str().is_some_and(|name| self.admits(name)))
    }
}

/// A command whose environment can be restricted.
pub trait ChildEnv {
    /// Clears the child's environment, then inherits the variables that `allowed` admits. Variables set
    /// afterwards are kept.
    fn inherit_only(&mut self, allowed: &Allowlist) -> &mut Self;
}

impl ChildEnv for std::process::Command {
    fn inherit_only(&mut self, allowed: &Allowlist) -> &mut Self {
        self.env_clear().envs(allowed.inherited_vars())
    }
}

impl ChildEnv for tokio::process::Command {
    fn inherit_only(&mut self, allowed: &Allowlist) -> &mut Self {
        self.env_clear().envs(allowed.inherited_vars())
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::process::Command;

    use super::*;
    use crate::planner::PlannerOptions;

    /// The names of the variables of a child.
    fn names(allowed: &Allowlist) -> BTreeSet<String> {
        let mut child = Command::new("/usr/bin/env");
        let printed = child.inherit_only(allowed).env("OWN", "1").output().unwrap().stdout;
        let printed = String::from_utf8(printed).unwrap();
        printed.lines().filter_map(|line| Some(line.split_once('=')?.0.to_owned())).collect()
    }

    #[test]
    fn a_child_inherits_what_is_listed_and_nothing_else() {
        // Cargo sets both for every test.
        assert!(std::env::vars_os().any(|(name, _)| name == "CARGO_MANIFEST_DIR"));
        let listed = Allowlist::none().names(&["CARGO_PKG_NAME", "NOT_SET_ANYWHERE"]);

        assert_eq!(names(&Allowlist::none()), BTreeSet::from(["OWN".to_owned()]));
        assert_eq!(names(&listed), ["CARGO_PKG_NAME", "OWN"].map(str::to_owned).into());
        assert!(names(&Allowlist::for_process()).iter().all(|name| !name.starts_with("CARGO")));
    }

    #[test]
    fn a_section_is_inherited_with_its_aliases_and_without_other_sections() {
        let planner = Allowlist::none().with_section::<PlannerOptions>();

        assert!(planner.admits("CYNODE_PLANNER__MAX_STEPS"));
        assert!(planner.admits("PLANNER_MAX_STEPS"));
        for other in ["CYNODE_ORCHESTRATOR__DATABASE_URL", "CYNODE_PLANNER", "PGPASSWORD", "PATH"] {
            assert!(!planner.admits(other), "{other}");
        }
    }
}
