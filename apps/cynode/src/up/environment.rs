//! Environment variables that each component inherits from `cynode up`.

use cynode_node::NodeOptions;
use cynode_orchestrator::{GatewayOptions, OrchestratorOptions};
use cynode_pma::PmaOptions;
use cynode_runner::RunnerOptions;
use cynode_runtime::child_env::Allowlist;
use cynode_runtime::planner::PlannerOptions;
use cynode_runtime::telemetry::LogOptions;

/// Variables that the orchestrator needs for outbound connections, and to find the analyst program by name.
const OUTBOUND: [&str; 12] = [
    "PATH",
    "HOME",
    "HTTP_PROXY",
    "http_proxy",
    "HTTPS_PROXY",
    "https_proxy",
    "ALL_PROXY",
    "all_proxy",
    "NO_PROXY",
    "no_proxy",
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
];
/// Paths of the instructions of analysts, which the orchestrator starts.
const INSTRUCTIONS: [&str; 2] = ["PMA_INSTRUCTIONS_ROOT", "PMA_INSTRUCTIONS_PROJECT_ANALYST"];

/// The variables that a component inherits; an unknown component inherits none.
pub(crate) fn inherited_variables(role: &str) -> Allowlist {
    let shared = Allowlist::for_process().with_section::<LogOptions>();
    match role {
        "orchestrator" => shared
            .with_section::<OrchestratorOptions>()
            .with_section::<GatewayOptions>()
            .names(&OUTBOUND)
            .names(&INSTRUCTIONS),
        "runner" => shared.with_section::<RunnerOptions>(),
        "node" => shared.with_section::<NodeOptions>(),
        "pma" => shared.with_section::<PmaOptions>().with_section::<PlannerOptions>(),
        _ => Allowlist::none(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ROLES: [&str; 4] = ["orchestrator", "runner", "node", "pma"];

    #[test]
    fn no_role_inherits_credentials_of_providers_clouds_or_databases() {
        let secrets =
            ["OPENAI_API_KEY", "ANTHROPIC_API_KEY", "AWS_SECRET_ACCESS_KEY", "PGPASSWORD"];
        for role in ROLES {
            for name in secrets.into_iter().chain(["GITHUB_TOKEN", "SSH_AUTH_SOCK", "LD_PRELOAD"]) {
                assert!(!inherited_variables(role).admits(name), "{role} inherits {name}");
            }
        }
    }

    #[test]
    fn each_role_inherits_its_own_configuration_only() {
        for (role, own) in ROLES.into_iter().zip(["ORCHESTRATOR", "RUNNER", "NODE", "PMA"]) {
            for section in ["ORCHESTRATOR", "RUNNER", "NODE", "PMA"] {
                let is_admitted =
                    inherited_variables(role).admits(&format!("CYNODE_{section}__LISTEN"));
                assert_eq!(is_admitted, section == own, "{role}: {section}");
            }
            assert!(inherited_variables(role).admits("CYNODE_LOG__LEVEL"));
        }
        assert!(inherited_variables("pma").admits("MODEL_TEMPERATURE"));
    }
}
