//! Which agent works on a unit, with which model: by scope, kind of unit and kind of project.
//!
//! [`AgentRoster`] is configuration: a list of entries, of which the first that matches decides, and defaults for what no entry
//! matches. Every name of it is checked when it is set.

use cynode_domain::model::MODEL_HINTS;
use cynode_domain::work::UnitKind;
use cynode_domain::work_kind::{ProjectKind, WorkScope};
use serde::{Deserialize, Serialize};

/// The built-in agent.
pub const BUILT_IN_AGENT: &str = "sba";
/// The agent of demonstrations: it runs a script of the repository for each kind of unit, and calls no model.
pub const DEMO_AGENT: &str = "demo-script";
/// The setting with the roster of the installation.
pub const ROSTER_SETTING: &str = "pm.agents";
/// The most entries of a roster.
pub const MAX_ENTRIES: usize = 100;

/// The agent of a unit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AgentAssignment {
    /// The role that reports to the project manager.
    pub role: String,
    /// The specialisation, such as `rust-fixer`; part of the prompt.
    pub specialist: String,
    pub model_hint: String,
    /// The agent profile that runs; [`BUILT_IN_AGENT`] for the built-in agent.
    pub profile: String,
}

/// One line of a roster. Absent conditions match everything.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct RosterEntry {
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub units: Vec<UnitKind>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub scopes: Vec<WorkScope>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub projects: Vec<ProjectKind>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub specialist: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model_hint: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub profile: Option<String>,
}

impl RosterEntry {
    fn matches(&self, unit: UnitKind, scope: WorkScope, project: ProjectKind) -> bool {
        let any = |is_empty: bool, has: bool| is_empty || has;
        any(self.units.is_empty(), self.units.contains(&unit))
            && any(self.scopes.is_empty(), self.scopes.contains(&scope))
            && any(self.projects.is_empty(), self.projects.contains(&project))
    }
}

/// The configured agents.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct AgentRoster(pub Vec<RosterEntry>);

impl AgentRoster {
    /// Reads a roster; the error says everything that is wrong with it. `profiles` are the names of agent profiles.
    pub fn parse(value: &serde_json::Value, profiles: &[String]) -> Result<Self, String> {
        let roster = Self::deserialize(value)
            .map_err(|error| format!("{ROSTER_SETTING} must be a list of entries: {error}"))?;
        let faults = roster.validation_errors(profiles);
        if faults.is_empty() { Ok(roster) } else { Err(faults.join("; ")) }
    }

    /// Every name that is not known. `profiles` are the names of agent profiles.
    pub fn validation_errors(&self, profiles: &[String]) -> Vec<String> {
        let mut faults = vec![];
        if self.0.len() > MAX_ENTRIES {
            faults.push(format!("a roster has at most {MAX_ENTRIES} entries"));
        }
        for (index, entry) in self.0.iter().enumerate() {
            let number = index + 1;
            if let Some(hint) =
                entry.model_hint.as_deref().filter(|hint| !MODEL_HINTS.contains(hint))
            {
                let known = MODEL_HINTS.join(", ");
                faults.push(format!(
                    "entry {number}: \"{hint}\" is not a model hint; use one of: {known}"
                ));
            }
            let is_known =
                |name: &&str| is_known_agent(name) || profiles.iter().any(|known| known == name);
            if let Some(name) = entry.profile.as_deref().filter(|name| !is_known(name)) {
                faults.push(format!(
                    "entry {number}: there is no agent \"{name}\"; define it with `cynork agent profiles add`"
                ));
            }
            let is_word = |text: &str| {
                (1..=64).contains(&text.len())
                    && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
            };
            if let Some(name) = entry.specialist.as_deref().filter(|name| !is_word(name)) {
                faults.push(format!(
                    "entry {number}: \"{}\" is not a specialist: use 1 to 64 letters, digits and dashes",
                    name.escape_debug()
                ));
            }
        }
        faults
    }

    /// The agent of a unit.
    pub fn assign(
        &self,
        unit: UnitKind,
        scope: WorkScope,
        project: ProjectKind,
    ) -> AgentAssignment {
        let mut assigned = default_assignment(unit, scope, project);
        // The first entry that names a value decides about it.
        let matching = |entry: &&RosterEntry| entry.matches(unit, scope, project);
        for entry in
            self.0.iter().rev().filter(|entry| matching(entry) && !cynode_fault::fault!("PMO-10"))
        {
            if let Some(specialist) = &entry.specialist {
                assigned.specialist.clone_from(specialist);
            }
            if let Some(hint) = &entry.model_hint {
                assigned.model_hint.clone_from(hint);
            }
            if let Some(profile) = &entry.profile {
                assigned.profile.clone_from(profile);
            }
        }
        assigned
    }
}

/// Whether an agent works without a profile.
pub fn is_known_agent(name: &str) -> bool {
    [BUILT_IN_AGENT, DEMO_AGENT].contains(&name)
}

fn default_assignment(unit: UnitKind, scope: WorkScope, project: ProjectKind) -> AgentAssignment {
    let language = match project {
        ProjectKind::Unknown | ProjectKind::Make => "general",
        ProjectKind::Rust
        | ProjectKind::Node
        | ProjectKind::Python
        | ProjectKind::Go
        | ProjectKind::Dotnet
        | ProjectKind::Java
        | ProjectKind::Cpp
        | ProjectKind::Ruby
        | ProjectKind::Php
        | ProjectKind::Web => project.as_str(),
    };
    let is_little = scope <= WorkScope::Small;
    let (specialist, hint) = match unit {
        UnitKind::Implementation if is_little => (format!("{language}-fixer"), "fast"),
        UnitKind::Implementation => (format!("{language}-specialist"), "balanced"),
        UnitKind::Review => ("code-reviewer".to_owned(), "balanced"),
        UnitKind::Spec => ("systems-architect".to_owned(), "strong"),
        UnitKind::Design => ("design-specialist".to_owned(), "balanced"),
        UnitKind::Test => ("test-writer".to_owned(), if is_little { "fast" } else { "balanced" }),
    };
    AgentAssignment {
        role: unit.role().to_owned(),
        specialist,
        model_hint: hint.to_owned(),
        profile: BUILT_IN_AGENT.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn assign(unit: UnitKind, scope: WorkScope, project: ProjectKind) -> AgentAssignment {
        AgentRoster::default().assign(unit, scope, project)
    }

    #[test]
    fn small_work_goes_to_a_fixer_with_a_fast_model_and_large_work_to_a_specialist() {
        let small = assign(UnitKind::Implementation, WorkScope::Small, ProjectKind::Dotnet);
        let large = assign(UnitKind::Implementation, WorkScope::Large, ProjectKind::Dotnet);

        assert_eq!(
            (small.specialist.as_str(), small.model_hint.as_str()),
            ("dotnet-fixer", "fast")
        );
        assert_eq!(
            (large.specialist.as_str(), large.model_hint.as_str()),
            ("dotnet-specialist", "balanced")
        );
        assert_eq!(small.role, "developer");
    }

    #[test]
    fn every_unit_of_every_project_has_an_agent() {
        for unit in UnitKind::ALL {
            for scope in WorkScope::ALL {
                for project in ProjectKind::ALL {
                    let assigned = assign(*unit, *scope, *project);
                    assert_eq!(assigned.role, unit.role());
                    assert!(
                        !assigned.specialist.is_empty()
                            && MODEL_HINTS.contains(&assigned.model_hint.as_str())
                    );
                }
            }
        }
    }

    #[test]
    fn the_first_entry_that_matches_decides_each_value() {
        let roster: AgentRoster = serde_json::from_str(
            r#"[{"units":["review"],"profile":"critic"},
                {"projects":["rust"],"profile":"opencode","model_hint":"strong"},
                {"model_hint":"fast"}]"#,
        )
        .unwrap();

        let review = roster.assign(UnitKind::Review, WorkScope::Small, ProjectKind::Rust);
        let work = roster.assign(UnitKind::Implementation, WorkScope::Small, ProjectKind::Go);

        assert_eq!((review.profile.as_str(), review.model_hint.as_str()), ("critic", "strong"));
        assert_eq!((work.profile.as_str(), work.model_hint.as_str()), ("sba", "fast"));
    }

    #[test]
    fn a_roster_that_cannot_be_read_is_rejected_with_its_reason() {
        let parse = |text: &str| {
            AgentRoster::parse(&serde_json::from_str(text).unwrap(), &["opencode".to_owned()])
        };

        assert!(parse(r#"[{"profile":"opencode"}]"#).is_ok());
        for (text, part) in [
            (r#"{"profile":"opencode"}"#, "must be a list"),
            (r#"[{"profil":"opencode"}]"#, "profil"),
            (r#"[{"units":["deploy"]}]"#, "deploy"),
            (r#"[{"profile":"ghost"}]"#, "there is no agent \"ghost\""),
        ] {
            let fault = parse(text).unwrap_err();
            assert!(fault.contains(part), "{fault}");
        }
    }

    #[test]
    fn unknown_names_are_all_rejected() {
        let roster: AgentRoster = serde_json::from_str(
            r#"[{"profile":"ghost","model_hint":"huge","specialist":"a b"},{"profile":"sba"}]"#,
        )
        .unwrap();

        assert_eq!(roster.validation_errors(&["opencode".to_owned()]).len(), 3);
        assert!(serde_json::from_str::<AgentRoster>(r#"[{"unit":"spec"}]"#).is_err());
    }
}
