//! The direction of dependencies between packages. Invariant: a crate depends only on crates of a
//! lower layer, so the compiler enforces which processes can open the database.

use cargo_metadata::{DependencyKind, Metadata};

use super::TidyFindings;
use crate::fault::Fault;

/// Packages above all layers; only tests may depend on them.
const ABOVE: u8 = 12;

/// Every package of this workspace and its layer.
const LAYERS: &[(&str, u8)] = &[
    (FAULT, 0),
    ("cynode-domain", 0),
    ("cynode-http", 0),
    ("cynode-schema", 0),
    ("cynode-workflow-state", 1),
    ("cynode-knowledge", 2),
    ("cynode-lease", 2),
    ("cynode-llm-wire", 2),
    ("cynode-planning", 2),
    ("cynode-audit", 2),
    ("cynode-skill-scan", 2),
    ("cynode-sql", 2),
    ("cynode-wire", 2),
    ("cynode-llm", 3),
    ("cynode-runtime", 3),
    ("cynode-client", 3),
    ("cynode-store", 3),
    ("cynode-tool-handlers", 3),
    ("cynode-agent-job", 4),
    ("cynode-blobs", 4),
    ("cynode-cli", 4),
    ("cynode-git", 4),
    ("cynode-image", 4),
    ("cynode-network", 4),
    ("cynode-resources", 4),
    ("cynode-roles", 4),
    ("cynode-sandbox", 5),
    ("cynode-upstream", 5),
    ("cynode-cli-admin", 5),
    ("cynode-execution", 5),
    ("cynode-forge", 5),
    ("cynode-analysts", 6),
    ("cynode-edge", 6),
    ("cynode-retrieval", 6),
    ("cynode-runs", 6),
    ("cynode-models", 6),
    ("cynode-notifications", 7),
    ("cynode-ops", 7),
    ("cynode-requests", 8),
    ("cynode-api", 9),
    ("cynode-console", 9),
    ("cynode-gateway", 9),
    ("cynode-workflow", 9),
    ("cynode-agent", 9),
    ("cynode-acp-client", 9),
    ("cynode-sandbox-agent", 9),
    ("cynode-worker", 9),
    ("cynode-orchestrator", 10),
    ("cynode-pma", 10),
    ("cynode-runner", 10),
    ("cynode-node", 10),
    ("cynode-sba", 10),
    ("cynode-stages", 10),
    ("cynork", 10),
    ("cynode", 11),
    (TESTKIT, ABOVE),
    (FIXTURE, ABOVE),
    (FORGE_FIXTURE, ABOVE),
    ("cynode-e2e", ABOVE),
    ("cynode-bench", ABOVE),
    ("xtask", ABOVE),
];

/// Deliberate faults, which every package may depend on: in an ordinary build they are nothing (ADR 56).
const FAULT: &str = "cynode-fault";
const TESTKIT: &str = "cynode-testkit";
const FIXTURE: &str = "cynode-mcp-fixture";
const FORGE_FIXTURE: &str = "cynode-forge-fixture";

/// The crates of operations, the only ones that may open the store.
const OPERATIONS: [&str; 10] = [
    "cynode-resources",
    "cynode-blobs",
    "cynode-retrieval",
    "cynode-execution",
    "cynode-analysts",
    "cynode-notifications",
    "cynode-models",
    "cynode-runs",
    "cynode-ops",
    "cynode-requests",
];
/// The edges, the process that starts them, and the packages that test the whole.
const EDGES: [&str; 6] =
    ["cynode-api", "cynode-gateway", "cynode-orchestrator", TESTKIT, "cynode-bench", "cynode-e2e"];

/// Programs that the tests of another program start: the node runs the agent in its sandboxes.
const STARTED_BY_TESTS: [(&str, &str); 1] = [("cynode-node", "cynode-sba")];

/// The packages that may depend on a restricted package; `None` if it is not restricted.
fn allowed_dependents(package: &str) -> Option<Vec<&'static str>> {
    if package == "cynode-sql" {
        return Some(vec!["cynode-store"]);
    }
    if package == "cynode-store" {
        return Some([&OPERATIONS[..], &[TESTKIT, "cynode-bench", "cynode-e2e"]].concat());
    }
    OPERATIONS.contains(&package).then(|| [&OPERATIONS[..], &EDGES[..]].concat())
}

/// One dependency between two packages of the workspace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PackageDependency {
    /// The dependent package.
    pub from: String,
    /// The dependency.
    pub to: String,
    /// Whether it is a dev-dependency.
    pub dev: bool,
}

/// Every dependency between two packages of the workspace.
pub fn list_dependencies(metadata: &Metadata) -> Vec<PackageDependency> {
    let members = metadata.workspace_packages();
    let is_member = |name: &str| members.iter().any(|package| package.name == name);
    let mut edges = Vec::new();
    for package in &members {
        // A package without dependencies must have a layer too.
        edges.push(PackageDependency {
            from: package.name.to_string(),
            to: String::new(),
            dev: false,
        });
        for dependency in package.dependencies.iter().filter(|d| is_member(&d.name)) {
            edges.push(PackageDependency {
                from: package.name.to_string(),
                to: dependency.name.clone(),
                dev: dependency.kind == DependencyKind::Development,
            });
        }
    }
    edges
}

/// Reports every edge that points the wrong way.
pub fn check(edges: &[PackageDependency], findings: &mut TidyFindings) {
    for edge in edges {
        let at = format!("package {}", edge.from);
        let Some(from) = layer_of(&edge.from) else {
            findings.faults.push(Fault::new(
                at,
                "has no layer",
                "name it in LAYERS of xtask/src/tidy/layers.rs and in ARCHITECTURE.md",
            ));
            continue;
        };
        if edge.to.is_empty() {
            continue;
        }
        if let Some((what, remedy)) = find_violation(edge, from) {
            findings.faults.push(Fault::new(at, what, remedy));
        }
    }
}

fn find_violation(edge: &PackageDependency, from: u8) -> Option<(String, &'static str)> {
    let to = &edge.to;
    if to == FAULT {
        return None;
    }
    if [TESTKIT, FIXTURE, FORGE_FIXTURE].contains(&to.as_str()) {
        return (!edge.dev && from != ABOVE).then(|| {
            (format!("depends on {to} outside its tests"), "move it to [dev-dependencies]")
        });
    }
    if edge.dev && STARTED_BY_TESTS.contains(&(edge.from.as_str(), to.as_str())) {
        return None;
    }
    if let Some(allowed) = allowed_dependents(to)
        && !allowed.contains(&edge.from.as_str())
    {
        return Some((
            format!("depends on {to}, which only {} may", allowed.join(", ")),
            "reach it through client",
        ));
    }
    let below = layer_of(to).is_some_and(|to| to < from);
    (!below).then(|| {
        (
            format!("depends on {to}, which is not in a lower layer"),
            "move the shared part down, or let an app wire the two",
        )
    })
}

fn layer_of(package: &str) -> Option<u8> {
    LAYERS.iter().find(|(name, _)| *name == package).map(|(_, layer)| *layer)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use cargo_metadata::MetadataCommand;

    use super::*;
    use crate::tool;

    /// Packages that open a database by themselves.
    const DRIVERS: &[&str] = &["deadpool-postgres", "rusqlite", "tokio-postgres"];

    /// The packages of this repository. Cargo does not resolve dependencies for it, so it needs no
    /// network.
    fn own_metadata() -> Metadata {
        let mut command = MetadataCommand::new();
        command.current_dir(tool::root()).no_deps().other_options(vec!["--offline".to_owned()]);
        command.exec().unwrap()
    }

    /// Every package of the workspace that `program` is built from, itself included.
    fn built_from<'e>(edges: &'e [PackageDependency], program: &'e str) -> BTreeSet<&'e str> {
        let mut found = BTreeSet::from([program]);
        let mut open = vec![program];
        while let Some(package) = open.pop() {
            for edge in edges.iter().filter(|edge| edge.from == package && !edge.dev) {
                if !edge.to.is_empty() && found.insert(&edge.to) {
                    open.push(&edge.to);
                }
            }
        }
        found
    }

    #[test]
    fn the_packages_of_this_repository_obey_the_layers() {
        let edges = list_dependencies(&own_metadata());
        let is_seen = |from: &str, to: &str| edges.iter().any(|e| e.from == from && e.to == to);
        assert!(is_seen("cynode-ops", "cynode-store"), "{edges:?}");
        assert!(is_seen("cynode-runner", "cynode-workflow"), "{edges:?}");
        let mut findings = TidyFindings::default();

        check(&edges, &mut findings);

        assert_eq!(findings.faults, []);
    }

    #[test]
    fn neither_runner_nor_node_nor_agent_is_built_from_a_crate_that_opens_a_database() {
        let metadata = own_metadata();
        let edges = list_dependencies(&metadata);
        for program in ["cynode-runner", "cynode-node", "cynode-pma", "cynork"] {
            let crates = built_from(&edges, program);
            assert!(crates.len() > 3 && !crates.contains("cynode-store"), "{program}: {crates:?}");
            for package in metadata.workspace_packages() {
                let name = package.name.to_string();
                let opens = |dependency: &cargo_metadata::Dependency| {
                    dependency.kind != DependencyKind::Development
                        && DRIVERS.contains(&dependency.name.as_str())
                };
                let is_part = crates.contains(name.as_str());
                assert!(!is_part || !package.dependencies.iter().any(opens), "{program}: {name}");
            }
        }
        assert!(built_from(&edges, "cynode-orchestrator").contains("cynode-store"));
    }

    fn faults(from: &str, to: &str, dev: bool) -> Vec<String> {
        let edge = PackageDependency { from: from.to_owned(), to: to.to_owned(), dev };
        let mut findings = TidyFindings::default();
        check(&[edge], &mut findings);
        findings.faults.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn a_crate_may_use_lower_layers() {
        assert_eq!(faults("cynode-worker", "cynode-client", false), Vec::<String>::new());
        assert_eq!(faults("cynode-ops", "cynode-store", false), Vec::<String>::new());
        assert_eq!(faults("cynode", "cynode-node", false), Vec::<String>::new());
    }

    #[test]
    fn a_crate_may_not_use_its_own_layer_or_a_higher_one() {
        for (from, to) in [
            ("cynode-workflow", "cynode-worker"),
            ("cynode-domain", "cynode-wire"),
            ("cynode-runtime", "cynode-client"),
        ] {
            let found = faults(from, to, false);

            assert_eq!(found.len(), 1, "{from} on {to}: {found:?}");
            assert!(found[0].contains("not in a lower layer"), "{found:?}");
        }
    }

    #[test]
    fn only_operations_may_open_the_store() {
        let found = faults("cynode-runner", "cynode-store", false);
        let engine = faults("cynode-ops", "cynode-sql", false);

        assert!(found[0].contains("which only cynode-resources"), "{found:?}");
        assert!(engine[0].contains("which only cynode-store"), "{engine:?}");
        assert_eq!(faults("cynode-store", "cynode-sql", false), Vec::<String>::new());
    }

    #[test]
    fn an_agent_may_not_use_the_operations_even_in_its_tests() {
        assert_eq!(faults("cynode-agent", "cynode-ops", true).len(), 1);
    }

    #[test]
    fn the_testkit_is_for_tests_only() {
        assert_eq!(faults("cynode-api", TESTKIT, true), Vec::<String>::new());
        assert!(faults("cynode-api", TESTKIT, false)[0].contains("outside its tests"));
    }

    #[test]
    fn a_package_without_a_layer_is_refused() {
        assert!(faults("cynode-surprise", "", false)[0].contains("has no layer"));
    }
}
