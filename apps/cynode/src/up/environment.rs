//! Which variables of `cynode up` each role inherits.

use cynode_node::NodeOptions;
use cynode_orchestrator::{GatewayOptions, OrchestratorOptions};
use cynode_pma::PmaOptions;
use cynode_runner::RunnerOptions;
use cynode_runtime::child_env::Allowlist;
use cynode_runtime::planner::PlannerOptions;
use cynode_runtime::telemetry::LogOptions;

/// What the orchestrator needs to reach providers and servers outside this machine, and to find a
/// program for analysts by its name.
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
/// Where the instructions of analysts are, which the orchestrator starts.
const INSTRUCTIONS: [&str; 2] = ["PMA_INSTRUCTIONS_ROOT", "PMA_INSTRUCTIONS_PROJECT_ANALYST"];

/// The variables that a role inherits; an unknown role inherits none.
pub(crate) fn of_role(role: &str) -> Allowlist {
    let shared = Allowlist::of_process().section::<LogOptions>();
    match role {
        "orchestrator" => shared
            .section::<OrchestratorOptions>()
            .section::<GatewayOptions>()
            .names(&OUTBOUND)
            .names(&INSTRUCTIONS),
        "runner" => shared.section::<RunnerOptions>(),
        "node" => shared.section::<NodeOptions>(),
        "pma" => shared.section::<PmaOptions>().section::<PlannerOptions>(),
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
                assert!(!of_role(role).admits(name), "{role} inherits {name}");
            }
        }
    }

    #[test]
    fn each_role_inherits_its_own_configuration_only() {
        for (role, own) in ROLES.into_iter().zip(["ORCHESTRATOR", "RUNNER", "NODE", "PMA"]) {
            for section in ["ORCHESTRATOR", "RUNNER", "NODE", "PMA"] {
                let is_admitted = of_role(role).admits(&format!("CYNODE_{section}__LISTEN"));
                assert_eq!(is_admitted, section == own, "{role}: {section}");
            }
            assert!(of_role(role).admits("CYNODE_LOG__LEVEL"));
        }
        assert!(of_role("pma").admits("MODEL_TEMPERATURE"));
    }
}
