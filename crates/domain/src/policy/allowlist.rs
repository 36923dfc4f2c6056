//! Allowlists of the built-in tools, by role.
//!
//! An allowlist does not grant access by itself: it bounds what rules can allow. It does not apply to
//! tools of installed servers; for those scope, enablement and rules decide.

use super::pattern::matches_glob;
use super::{AgentType, Principal};

/// The namespaces of built-in tools, reserved as server names.
pub const NAMESPACES: &[&str] = &[
    "api",
    "apmas",
    "artifact",
    "builtin",
    "connector",
    "cuga",
    "cynode",
    "db",
    "git",
    "help",
    "knowledge",
    "memory",
    "model",
    "node",
    "persona",
    "pm",
    "project_memory",
    "sandbox",
    "skills",
    "system",
    "web",
];

/// A tool that is callable only while a setting is `true`.
pub struct SettingGate {
    pub tool: &'static str,
    /// Absent counts as `false`.
    pub setting: &'static str,
}

/// The tools that a setting guards.
pub const SETTING_GATES: &[SettingGate] = &[SettingGate {
    tool: "sandbox.allowed_images.add",
    setting: "agents.project_manager.sandbox.allow_add_to_allowed_images",
}];

/// Users' own clients: what the REST API offers too.
const USER: &[&str] = &[
    "db.*",
    "artifact.*",
    "node.*",
    "sandbox.*",
    "model.*",
    "connector.*",
    "web.*",
    "api.call",
    "git.diff",
    "git.repo.validate",
    "git.*",
    "help.*",
    "skills.*",
    "persona.*",
    "pm.*",
    "project_memory.*",
    "knowledge.*",
    "apmas_*",
    "cuga.modular.tools.date.*",
    "cuga.modular.tools.json.*",
    "cuga.modular.tools.math.*",
    "cuga.modular.tools.table.*",
    "cuga.modular.tools.text.*",
    "cuga.modular.tools.web.*",
];

/// Project managers plan and dispatch.
const PM: &[&str] = &[
    "db.*",
    "artifact.*",
    "node.*",
    "sandbox.*",
    "model.*",
    "connector.*",
    "web.fetch",
    "web.search",
    "api.call",
    "git.diff",
    "git.repo.validate",
    "git.*",
    "help.*",
    "skills.*",
    "persona.list",
    "persona.get",
    "pm.*",
    "project_memory.*",
    "knowledge.*",
    "apmas_pm_instruct",
    "apmas_create_plan",
    "apmas_route_work",
    "apmas_get_work_status",
    "apmas_get_context",
    "cuga.modular.tools.date.*",
    "cuga.modular.tools.json.*",
    "cuga.modular.tools.math.*",
    "cuga.modular.tools.table.*",
    "cuga.modular.tools.text.*",
    "cuga.modular.tools.web.*",
];

/// Analysts read, and write findings.
const PA: &[&str] = &[
    "db.*.get",
    "db.*.list",
    "db.*.effective",
    "db.task.result",
    "db.task.logs",
    "db.run.history",
    "db.finding.*",
    "artifact.get",
    "artifact.list",
    "git.diff",
    "web.fetch",
    "web.search",
    "api.call",
    "help.*",
    "skills.list",
    "skills.get",
    "skills.create",
    "skills.update",
    "skills.delete",
    "persona.list",
    "persona.get",
    "project_memory.*",
    "knowledge.list",
    "knowledge.search",
    "apmas_report_to_pm",
    "apmas_get_context",
    "apmas_heartbeat",
    "apmas_request_help",
    "apmas_get_work_status",
    "cuga.modular.tools.date.*",
    "cuga.modular.tools.json.*",
    "cuga.modular.tools.math.*",
    "cuga.modular.tools.table.*",
    "cuga.modular.tools.text.*",
    "cuga.modular.tools.web.*",
];

/// Sandboxed agents work on their own task.
const SANDBOX: &[&str] = &[
    "artifact.*",
    "memory.*",
    "project_memory.*",
    "knowledge.list",
    "knowledge.search",
    "web.fetch",
    "web.search",
    "api.call",
    "help.*",
    "skills.list",
    "skills.get",
    "apmas_report_to_pm",
    "apmas_report_status",
    "apmas_get_context",
    "apmas_request_help",
    "apmas_submit_work",
    "apmas_complete",
    "apmas_checkpoint",
    "apmas_heartbeat",
    "apmas_send_message",
    "cuga.modular.tools.date.*",
    "cuga.modular.tools.json.*",
    "cuga.modular.tools.math.*",
    "cuga.modular.tools.table.*",
    "cuga.modular.tools.text.*",
    "cuga.modular.tools.web.*",
];

/// Excluded from the rules of a new installation: tools that reach outside it. Network access is an
/// administrator's decision. `git.diff` and `git.repo.validate` read what is stored, and have patterns of their own.
const OUTBOUND: &[&str] = &[
    "web.*",
    "web.fetch",
    "web.search",
    "api.call",
    "connector.*",
    "git.*",
    "cuga.modular.tools.web.*",
];

/// Tools that change state shared by all of a user's tasks. Tokens bound to one task cannot call
/// them.
const CLOSED_TO_TASK_TOKENS: &[&str] = &["skills.create", "skills.update", "skills.delete"];

/// The allowlist of `caller`.
pub const fn allowlist_patterns(caller: Principal) -> &'static [&'static str] {
    match caller {
        Principal::Agent(AgentType::Pm) => PM,
        Principal::Agent(AgentType::Pa) => PA,
        Principal::Agent(AgentType::Sandbox) => SANDBOX,
        Principal::User => USER,
    }
}

/// Whether the allowlist of `caller` contains the built-in `tool`.
pub fn is_allowlisted(caller: Principal, tool: &str) -> bool {
    allowlist_patterns(caller).iter().any(|pattern| matches_glob(pattern, tool))
}

/// Whether the built-in `tool` is closed to tokens bound to a task.
pub fn is_closed_to_task_tokens(tool: &str) -> bool {
    CLOSED_TO_TASK_TOKENS.contains(&tool)
}

/// The patterns that a new installation allows for `caller`.
pub fn seeded_patterns(caller: Principal) -> impl Iterator<Item = &'static str> {
    allowlist_patterns(caller).iter().copied().filter(|pattern| !OUTBOUND.contains(pattern))
}

/// The setting that guards `tool`.
pub fn guarding_setting(tool: &str) -> Option<&'static str> {
    SETTING_GATES.iter().find(|gate| gate.tool == tool).map(|gate| gate.setting)
}

/// Whether installed servers may not have this name.
pub fn is_reserved_namespace(server: &str) -> bool {
    NAMESPACES.contains(&server)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sandboxed_agents_never_reach_database_nodes_or_sandboxes() {
        for tool in ["db.task.get", "node.list", "sandbox.exec", "sandbox.create", "model.list"] {
            assert!(!is_allowlisted(Principal::SANDBOX, tool), "{tool}");
        }
        assert!(is_allowlisted(Principal::SANDBOX, "memory.add"));
        assert!(is_allowlisted(Principal::SANDBOX, "artifact.put"));
    }

    #[test]
    fn analysts_read_and_write_nothing_but_findings() {
        for tool in [
            "db.task.get",
            "db.project.list",
            "db.run.history",
            "db.trace.get",
            "db.preference.effective",
            "db.finding.create",
            "artifact.get",
            "git.diff",
        ] {
            assert!(is_allowlisted(Principal::PA, tool), "{tool}");
        }
        for tool in [
            "db.task.create",
            "db.task.cancel",
            "db.task.update_status",
            "db.job.update_status",
            "db.preference.update",
            "artifact.put",
            "node.list",
            "git.push",
        ] {
            assert!(!is_allowlisted(Principal::PA, tool), "{tool}");
        }
    }

    #[test]
    fn agents_report_and_only_the_managers_side_instructs_plans_and_routes() {
        for tool in ["apmas_pm_instruct", "apmas_create_plan", "apmas_route_work"] {
            assert!(is_allowlisted(Principal::PM, tool), "{tool}");
            assert!(!is_allowlisted(Principal::PA, tool), "{tool}");
            assert!(!is_allowlisted(Principal::SANDBOX, tool), "{tool}");
        }
        for tool in ["apmas_submit_work", "apmas_complete", "apmas_checkpoint"] {
            assert!(is_allowlisted(Principal::SANDBOX, tool), "{tool}");
            assert!(!is_allowlisted(Principal::PM, tool), "{tool}");
        }
        for caller in Principal::ALL {
            assert!(is_allowlisted(*caller, "apmas_get_context"), "{caller}");
        }
    }

    #[test]
    fn unknown_namespaces_are_on_no_allowlist() {
        for caller in Principal::ALL {
            assert!(!is_allowlisted(*caller, "shell.exec"));
            assert!(!is_allowlisted(*caller, ""));
        }
    }

    #[test]
    fn a_new_installation_lets_no_agent_reach_the_network() {
        for caller in Principal::ALL {
            for tool in ["web.fetch", "api.call", "git.push", "cuga.modular.tools.web.json"] {
                assert!(
                    !seeded_patterns(*caller).any(|pattern| matches_glob(pattern, tool)),
                    "{caller} {tool}"
                );
            }
        }
    }

    #[test]
    fn a_new_installation_shows_changes_of_repositories_to_all_but_sandboxes() {
        for caller in Principal::ALL {
            let is_seeded = seeded_patterns(*caller).any(|it| matches_glob(it, "git.diff"));
            assert_eq!(is_seeded, *caller != Principal::SANDBOX, "{caller}");
        }
    }

    #[test]
    fn addresses_of_repositories_are_validated_by_users_and_project_managers() {
        for caller in Principal::ALL {
            let may = matches!(caller, Principal::User | Principal::Agent(AgentType::Pm));
            for tool in ["git.repo.validate", "git.pr.create"] {
                assert_eq!(is_allowlisted(*caller, tool), may, "{caller} {tool}");
            }
            let mut seeded = seeded_patterns(*caller);
            assert_eq!(seeded.any(|it| matches_glob(it, "git.repo.validate")), may, "{caller}");
            let mut seeded = seeded_patterns(*caller);
            assert!(!seeded.any(|it| matches_glob(it, "git.pr.create")), "{caller}");
        }
    }

    #[test]
    fn adding_allowed_images_is_guarded_by_a_setting() {
        let setting = "agents.project_manager.sandbox.allow_add_to_allowed_images";
        assert_eq!(guarding_setting("sandbox.allowed_images.add"), Some(setting));
        assert_eq!(guarding_setting("sandbox.allowed_images.list"), None);
    }
}
