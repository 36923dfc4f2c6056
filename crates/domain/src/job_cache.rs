//! Caches that survive jobs: who may share one.
//!
//! A job that writes into a cache decides what later jobs read from it, so a cache is shared only between jobs whose commands come
//! from equally trusted authors. [`decide_cache_level`] is the whole decision; everything that it cannot tell is an agent's.

use crate::ids::{ProfileId, ProjectId, UserId};
use crate::job::Action;
use crate::plan::InputMode;

/// The preference that allows caches: true or false.
pub const CACHE_ENABLED_KEY: &str = "sandbox.cache.enabled";
/// The setting with the MiB that the caches of one project may fill on each worker node; 0 switches caches off.
pub const CACHE_QUOTA_KEY: &str = "sandbox.cache.quota_mib";
/// The quota without a setting.
pub const DEFAULT_CACHE_QUOTA_MIB: u32 = 4096;

words! {
    /// The author of what a job executes, as far as a cache is concerned.
    CacheLevel("cache level") {
        /// A person wrote the command, and nothing else changed the workspace before it.
        Person = "person",
        /// An agent, a model or an unknown author may have had a part in it.
        Agent = "agent",
    }
}

/// What decides the level of a job.
#[derive(Debug, Clone, Copy)]
pub struct CacheFacts<'a> {
    /// Whether a person created the task, through the API.
    pub is_from_person: bool,
    pub input_mode: InputMode,
    /// The command lines of the task.
    pub commands: &'a [String],
    /// The script of the task.
    pub script: &'a str,
    pub action: &'a Action,
    /// Whether the job is an attempt at a step: neither a check nor a command that was sent into the workspace.
    pub is_step: bool,
    /// Whether others could have put files into the workspace: changes of other tasks, checks, commands sent into it.
    pub has_other_authors: bool,
}

/// The level of a job.
pub fn decide_cache_level(facts: &CacheFacts<'_>) -> CacheLevel {
    let is_own_command = match (facts.input_mode, facts.action) {
        (InputMode::Commands, Action::Command { line }) => facts.commands.contains(line),
        (InputMode::Script, Action::Script { text }) => text == facts.script,
        _ => false,
    };
    if facts.is_from_person && facts.is_step && is_own_command && !facts.has_other_authors {
        CacheLevel::Person
    } else {
        CacheLevel::Agent
    }
}

/// What two jobs must have in common to share a cache.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CacheScope<'a> {
    pub project: ProjectId,
    /// The profile of the task; the default one of the project if the task names none.
    pub profile: ProfileId,
    pub user: UserId,
    pub level: CacheLevel,
    /// Address and base branch of the repository that the job works on.
    pub repository: Option<(&'a str, &'a str)>,
    /// The image that the job runs in.
    pub image: &'a str,
}

impl CacheScope<'_> {
    /// A text that differs for every two scopes that differ.
    pub fn describe(&self) -> String {
        let (url, branch) = self.repository.unwrap_or_default();
        let parts = [
            &*self.project.to_string(),
            &self.profile.to_string(),
            &self.user.to_string(),
            self.level.as_str(),
            url,
            branch,
            self.image,
        ];
        // The length before each part: no part can pretend to be two.
        parts.map(|part| format!("{}:{part}", part.len())).concat()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn person<'a>(commands: &'a [String], action: &'a Action) -> CacheFacts<'a> {
        CacheFacts {
            is_from_person: true,
            input_mode: InputMode::Commands,
            commands,
            script: "",
            action,
            is_step: true,
            has_other_authors: false,
        }
    }

    #[test]
    fn only_a_command_of_a_person_in_a_workspace_without_other_commands_has_the_level_of_people() {
        let commands = ["make".to_owned()];
        let action = Action::Command { line: "make".to_owned() };
        let base = person(&commands, &action);
        assert_eq!(decide_cache_level(&base), CacheLevel::Person);

        let other = Action::Command { line: "make evil".to_owned() };
        let agent = Action::Agent { prompt: "make".to_owned(), criteria: vec![], model_hint: None };
        let script = Action::Script { text: "make".to_owned() };
        for facts in [
            CacheFacts { is_from_person: false, ..base },
            CacheFacts { is_step: false, ..base },
            CacheFacts { has_other_authors: true, ..base },
            CacheFacts { input_mode: InputMode::Prompt, ..base },
            CacheFacts { input_mode: InputMode::Agent, ..base },
            CacheFacts { action: &other, ..base },
            CacheFacts { action: &agent, ..base },
            CacheFacts { action: &script, ..base },
        ] {
            assert_eq!(decide_cache_level(&facts), CacheLevel::Agent, "{facts:?}");
        }
    }

    #[test]
    fn a_script_counts_as_a_persons_only_if_it_is_unchanged() {
        let script = Action::Script { text: "make".to_owned() };
        let facts = CacheFacts { input_mode: InputMode::Script, ..person(&[], &script) };

        assert_eq!(decide_cache_level(&CacheFacts { script: "make", ..facts }), CacheLevel::Person);
        assert_eq!(decide_cache_level(&CacheFacts { script: "mak", ..facts }), CacheLevel::Agent);
    }

    #[test]
    fn scopes_that_differ_in_one_part_have_different_texts() {
        let base = CacheScope {
            project: ProjectId::generate(),
            profile: ProfileId::generate(),
            user: UserId::generate(),
            level: CacheLevel::Person,
            repository: Some(("https://example.com/a", "main")),
            image: "host",
        };
        let others = [
            CacheScope { project: ProjectId::generate(), ..base },
            CacheScope { profile: ProfileId::generate(), ..base },
            CacheScope { user: UserId::generate(), ..base },
            CacheScope { level: CacheLevel::Agent, ..base },
            CacheScope { repository: None, ..base },
            CacheScope { repository: Some(("https://example.com/am", "ain")), ..base },
            CacheScope { repository: Some(("https://example.com/a", "work")), ..base },
            CacheScope { image: "python", ..base },
        ];

        for other in others {
            assert_ne!(other.describe(), base.describe(), "{other:?}");
        }
    }

    #[test]
    fn no_scope_has_a_text_of_the_release_that_knew_no_profiles() {
        let (project, user) = (ProjectId::generate(), UserId::generate());
        let profile = ProfileId::default_of(project);
        let level = CacheLevel::Person;
        let scope = CacheScope { project, profile, user, level, repository: None, image: "host" };

        let earlier = format!("36:{project}36:{user}6:person0:0:4:host");

        assert_eq!(
            scope.describe(),
            format!("36:{project}36:{profile}36:{user}6:person0:0:4:host")
        );
        assert_ne!(scope.describe(), earlier);
    }
}
