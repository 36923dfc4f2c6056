//! The direction of dependencies: the package graph is the access diagram.
//!
//! Invariant: a crate depends only on crates of a lower layer, so that which process may touch the
//! database is decided by the compiler.

use cargo_metadata::{DependencyKind, Metadata};

use super::Findings;
use crate::fault::Fault;

/// Packages that stand above all layers; nothing but a test may depend on them.
const ABOVE: u8 = 7;

/// Every package of this workspace and its layer.
const LAYERS: &[(&str, u8)] = &[
    ("cynode-domain", 0),
    ("cynode-http", 0),
    ("cynode-wire", 1),
    ("cynode-llm", 2),
    ("cynode-runtime", 2),
    ("cynode-client", 2),
    ("cynode-store", 2),
    ("cynode-ops", 3),
    ("cynode-api", 4),
    ("cynode-console", 4),
    ("cynode-gateway", 4),
    ("cynode-workflow", 4),
    ("cynode-agent", 4),
    ("cynode-worker", 4),
    ("cynode-orchestrator", 5),
    ("cynode-pma", 5),
    ("cynode-runner", 5),
    ("cynode-node", 5),
    ("cynode-sba", 5),
    ("cynork", 5),
    ("cynode", 6),
    (TESTKIT, ABOVE),
    (FIXTURE, ABOVE),
    ("cynode-e2e", ABOVE),
    ("cynode-bench", ABOVE),
    ("xtask", ABOVE),
];

const TESTKIT: &str = "cynode-testkit";
const FIXTURE: &str = "cynode-mcp-fixture";

/// Crates that few may use, and who may.
const GUARDED: &[(&str, &[&str])] = &[
    ("cynode-store", &["cynode-ops", TESTKIT, "cynode-bench", "cynode-e2e"]),
    (
        "cynode-ops",
        &[
            "cynode-api",
            "cynode-gateway",
            "cynode-orchestrator",
            TESTKIT,
            "cynode-bench",
            "cynode-e2e",
        ],
    ),
];

/// One dependency between two packages of the workspace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Edge {
    /// Who depends.
    pub from: String,
    /// On whom.
    pub to: String,
    /// Whether only its tests do.
    pub dev: bool,
}

/// Every dependency between two packages of the workspace.
pub fn edges(metadata: &Metadata) -> Vec<Edge> {
    let members = metadata.workspace_packages();
    let is_member = |name: &str| members.iter().any(|package| package.name == name);
    let mut edges = Vec::new();
    for package in &members {
        // A package without dependencies still has to have a layer.
        edges.push(Edge { from: package.name.to_string(), to: String::new(), dev: false });
        for dependency in package.dependencies.iter().filter(|d| is_member(&d.name)) {
            edges.push(Edge {
                from: package.name.to_string(),
                to: dependency.name.clone(),
                dev: dependency.kind == DependencyKind::Development,
            });
        }
    }
    edges
}

/// Reports every edge that points the wrong way.
pub fn check(edges: &[Edge], findings: &mut Findings) {
    for edge in edges {
        let at = format!("package {}", edge.from);
        let Some(from) = layer(&edge.from) else {
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
        if let Some((what, remedy)) = objection(edge, from) {
            findings.faults.push(Fault::new(at, what, remedy));
        }
    }
}

fn objection(edge: &Edge, from: u8) -> Option<(String, &'static str)> {
    let to = &edge.to;
    if to == TESTKIT || to == FIXTURE {
        return (!edge.dev && from != ABOVE).then(|| {
            (format!("depends on {to} outside its tests"), "move it to [dev-dependencies]")
        });
    }
    if let Some((_, allowed)) = GUARDED.iter().find(|(guarded, _)| guarded == to)
        && !allowed.contains(&edge.from.as_str())
    {
        return Some((
            format!("depends on {to}, which only {} may", allowed.join(", ")),
            "reach it through client",
        ));
    }
    let below = layer(to).is_some_and(|to| to < from);
    (!below).then(|| {
        (
            format!("depends on {to}, which is not in a lower layer"),
            "move the shared part down, or let an app wire the two",
        )
    })
}

fn layer(package: &str) -> Option<u8> {
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

    /// The packages of this repository. Cargo resolves nothing for it, and so needs no network.
    fn own_metadata() -> Metadata {
        let mut command = MetadataCommand::new();
        command.current_dir(tool::root()).no_deps().other_options(vec!["--offline".to_owned()]);
        command.exec().unwrap()
    }

    /// Every package of the workspace that `program` is built from, itself included.
    fn built_from<'e>(edges: &'e [Edge], program: &'e str) -> BTreeSet<&'e str> {
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
        let edges = edges(&own_metadata());
        let is_seen = |from: &str, to: &str| edges.iter().any(|e| e.from == from && e.to == to);
        assert!(is_seen("cynode-ops", "cynode-store"), "{edges:?}");
        assert!(is_seen("cynode-runner", "cynode-workflow"), "{edges:?}");
        let mut findings = Findings::default();

        check(&edges, &mut findings);

        assert_eq!(findings.faults, []);
    }

    #[test]
    fn neither_runner_nor_node_nor_agent_is_built_from_a_crate_that_opens_a_database() {
        let metadata = own_metadata();
        let edges = edges(&metadata);
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
        let edge = Edge { from: from.to_owned(), to: to.to_owned(), dev };
        let mut findings = Findings::default();
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
    fn only_ops_may_open_the_store() {
        let found = faults("cynode-runner", "cynode-store", false);

        assert!(found[0].contains("which only cynode-ops"), "{found:?}");
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
