//! Profiles: what agents of a project may use.
//!
//! A profile is the unit of isolation of agents: tools, network, models, limits and memory. It belongs to a project. It
//! can only narrow what roles, rules and agent profiles permit. (An agent profile, [`crate::agent_profile`], is a
//! program of another vendor.)

use serde::{Deserialize, Serialize};

use crate::ids::{ProfileId, ProjectId};
use crate::job::Limits;
use crate::policy::allowed_hosts::AllowedHosts;
use crate::policy::pattern::{Pattern, matches_glob};

/// The name of the profile that every project has.
pub const DEFAULT_PROFILE: &str = "default";
/// The longest name, in characters.
pub const MAX_NAME_CHARS: usize = 64;
/// The longest description, in bytes.
pub const MAX_DESCRIPTION_BYTES: usize = 1000;
/// The most patterns of tools, or of models.
pub const MAX_PATTERNS: usize = 256;

impl ProfileId {
    /// The id of the default profile of a project, also before its row exists.
    pub const fn default_of(project: ProjectId) -> Self {
        Self::from_uuid(project.as_uuid())
    }
}

/// What a profile allows. An absent list narrows nothing, an empty one allows nothing.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ProfileSpec {
    #[serde(skip_serializing_if = "String::is_empty")]
    pub description: String,
    /// Patterns of the tools that agents may call, such as `db.task.*`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tools: Option<Vec<String>>,
    /// Hosts that sandboxes may connect to, if their agent profile allows them too, and that tools may fetch from, if
    /// rules allow them too.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hosts: Option<Vec<String>>,
    /// Patterns of the models that agents may call: names or hints, such as `fast`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub models: Option<Vec<String>>,
    #[serde(skip_serializing_if = "ProfileLimits::is_empty")]
    pub limits: ProfileLimits,
    #[serde(skip_serializing_if = "ProfileMemory::is_default")]
    pub memory: ProfileMemory,
}

/// Limits that lower those of each task.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ProfileLimits {
    /// Wall-clock time of a job, in seconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timeout_s: Option<u32>,
    /// Memory of a job, in MiB.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory_mib: Option<u32>,
    /// Cost of the calls to models of a run, in millionths of a US dollar.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub budget_micros: Option<u64>,
}

impl ProfileLimits {
    fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// The limits of a job, lowered to these.
    #[must_use]
    pub fn lower(&self, job: Limits) -> Limits {
        job.at_most(&Limits {
            timeout_s: self.timeout_s.unwrap_or(u32::MAX),
            memory_mib: self.memory_mib.unwrap_or(u32::MAX),
            ..Limits::MAX
        })
    }
}

/// What agents of a profile may do with the memory of the project in their profile.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ProfileMemory {
    pub readable: bool,
    pub writable: bool,
}

impl Default for ProfileMemory {
    fn default() -> Self {
        Self { readable: true, writable: true }
    }
}

impl ProfileMemory {
    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes what it may leave out so")]
    fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

impl ProfileSpec {
    /// Whether agents may call a tool, by its canonical name.
    pub fn allows_tool(&self, name: &str) -> bool {
        self.tools.as_deref().is_none_or(|patterns| matches_any(patterns, name))
    }

    /// Whether agents may call a model, by its name or by the hint that selected it.
    pub fn allows_model(&self, model: &str, hint: Option<&str>) -> bool {
        self.models.as_deref().is_none_or(|patterns| {
            matches_any(patterns, model) || hint.is_some_and(|hint| matches_any(patterns, hint))
        })
    }

    /// The hosts that a sandbox may connect to, of those that its agent profile allows. Unreadable hosts allow none.
    pub fn narrow_hosts(&self, allowed: Vec<String>) -> Vec<String> {
        match &self.hosts {
            Some(hosts) => AllowedHosts::intersect(&allowed, hosts),
            None => allowed,
        }
    }

    /// Validation errors: one for each fault.
    pub fn validation_errors(&self) -> Vec<String> {
        let mut faults = vec![];
        if self.description.len() > MAX_DESCRIPTION_BYTES {
            faults.push(format!("description is longer than {MAX_DESCRIPTION_BYTES} bytes"));
        }
        if self.description.contains('\0') {
            faults.push("description must not contain NUL characters".to_owned());
        }
        check_patterns("tools", self.tools.as_deref(), &mut faults);
        check_patterns("models", self.models.as_deref(), &mut faults);
        if let Some(Err(error)) = self.hosts.as_deref().map(AllowedHosts::parse) {
            faults.push(format!("hosts: {error}"));
        }
        self.limits.check(&mut faults);
        if self.memory.writable && !self.memory.readable {
            let fault = "memory.writable needs memory.readable: set both, or writable to false";
            faults.push(fault.to_owned());
        }
        faults
    }
}

impl ProfileLimits {
    fn check(&self, faults: &mut Vec<String>) {
        let maximum = Limits::MAX;
        let fields = [
            ("timeout_s", self.timeout_s, maximum.timeout_s),
            ("memory_mib", self.memory_mib, maximum.memory_mib),
        ];
        for (name, value, most) in fields {
            if let Some(value) = value.filter(|value| !(1..=most).contains(value)) {
                faults.push(format!("limits.{name} is {value}; allowed is 1 to {most}"));
            }
        }
        if let Some(value) = self.budget_micros.filter(|value| *value > MAX_BUDGET_MICROS) {
            let most = MAX_BUDGET_MICROS;
            faults.push(format!("limits.budget_micros is {value}; allowed is 0 to {most}"));
        }
    }
}

const MAX_BUDGET_MICROS: u64 = 1_000_000_000_000;

fn matches_any(patterns: &[String], name: &str) -> bool {
    patterns.iter().any(|pattern| matches_glob(pattern, name))
}

fn check_patterns(field: &str, patterns: Option<&[String]>, faults: &mut Vec<String>) {
    let patterns = patterns.unwrap_or_default();
    if patterns.len() > MAX_PATTERNS {
        faults.push(format!("{field} has more than {MAX_PATTERNS} patterns"));
        return;
    }
    for (index, pattern) in patterns.iter().enumerate() {
        if let Err(error) = pattern.parse::<Pattern>() {
            faults.push(format!("{field}[{index}]: {error}"));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spec(text: &str) -> ProfileSpec {
        serde_json::from_str(text).unwrap()
    }

    #[test]
    fn an_absent_list_narrows_nothing_and_an_empty_one_allows_nothing() {
        let (open, closed) = (ProfileSpec::default(), spec(r#"{"tools":[],"models":[]}"#));

        assert!(open.allows_tool("db.task.get") && open.allows_model("m", None));
        assert!(!closed.allows_tool("db.task.get") && !closed.allows_model("m", Some("fast")));
    }

    #[test]
    fn a_tool_is_allowed_by_pattern_and_a_model_by_name_or_hint() {
        let spec = spec(r#"{"tools":["db.task.*"],"models":["qwen*","fast"]}"#);

        assert!(spec.allows_tool("db.task.get") && !spec.allows_tool("db.run.get"));
        assert!(spec.allows_model("qwen3:4b", None) && spec.allows_model("other", Some("fast")));
        assert!(!spec.allows_model("other", Some("strong")) && !spec.allows_model("other", None));
    }

    #[test]
    fn limits_and_hosts_are_narrowed_and_never_widened() {
        let spec = spec(
            r#"{"hosts":["*.example.com","b.test:80"],"limits":{"timeout_s":60,"memory_mib":9999}}"#,
        );
        let given = |hosts: &[&str]| hosts.iter().map(|host| (*host).to_owned()).collect();

        let lowered = spec.limits.lower(Limits { timeout_s: 3600, ..Limits::default() });
        assert_eq!(lowered, Limits { timeout_s: 60, ..Limits::default() });
        let open: Vec<String> =
            given(&["*:443", "a.test", "api.example.com", "api.example.com:80"]);
        assert_eq!(
            spec.narrow_hosts(open),
            given(&["*.example.com", "api.example.com"]) as Vec<String>
        );
        assert_eq!(spec.narrow_hosts(vec![]), Vec::<String>::new());
        let own: Vec<String> = given(&["x.test"]);
        assert_eq!(ProfileSpec::default().narrow_hosts(own.clone()), own);
    }

    #[test]
    fn all_faults_of_a_spec_are_reported_at_once() {
        let spec = spec(
            r#"{"tools":["a b",""],"hosts":["http://x"],"models":["?"],
                "limits":{"memory_mib":0,"timeout_s":99999999,"budget_micros":18446744073709551615},
                "memory":{"readable":false}}"#,
        );

        let faults = spec.validation_errors().join("\n");

        for part in [
            "tools[0]",
            "tools[1]",
            "hosts: ",
            "models[0]",
            "limits.memory_mib is 0",
            "limits.timeout_s",
            "limits.budget_micros",
            "memory.writable",
        ] {
            assert!(faults.contains(part), "{part}: {faults}");
        }
        assert_eq!(ProfileSpec::default().validation_errors(), Vec::<String>::new());
    }

    #[test]
    fn an_unknown_field_is_refused() {
        assert!(serde_json::from_str::<ProfileSpec>(r#"{"tool":[]}"#).is_err());
        assert_eq!(serde_json::to_string(&ProfileSpec::default()).unwrap(), "{}");
    }
}
