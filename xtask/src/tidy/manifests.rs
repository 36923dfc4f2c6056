//! Every dependency is declared once, in the root manifest.

use anyhow::Result;
use toml::{Table, Value};

use super::TidyFindings;
use crate::fault::Fault;

const SECTIONS: &[&str] = &["dependencies", "dev-dependencies", "build-dependencies"];

/// Reports dependencies and lints that a member declares itself. A package with its own workspace
/// is not a member.
pub fn check(path: &str, text: &str, findings: &mut TidyFindings) -> Result<()> {
    let manifest: Table = text.parse()?;
    if manifest.contains_key("workspace") {
        return Ok(());
    }
    for section in SECTIONS {
        let Some(dependencies) = manifest.get(*section).and_then(Value::as_table) else {
            continue;
        };
        for (name, _) in dependencies.iter().filter(|(_, value)| !is_inherited(value)) {
            findings.faults.push(Fault::in_line(
                path,
                line_of(text, name),
                format!("{name} is declared here"),
                format!(
                    "declare it in [workspace.dependencies] and write `{name}.workspace = true`"
                ),
            ));
        }
    }
    if !manifest.get("lints").is_some_and(is_inherited) {
        findings.faults.push(Fault::in_line(
            path,
            1,
            "the lints of the workspace do not apply",
            "add `[lints]` with `workspace = true`",
        ));
    }
    Ok(())
}

fn is_inherited(value: &Value) -> bool {
    value.get("workspace").and_then(Value::as_bool) == Some(true)
}

fn line_of(text: &str, name: &str) -> usize {
    text.lines()
        .position(|line| {
            line.strip_prefix(name).is_some_and(|rest| rest.starts_with([' ', '=', '.']))
        })
        .map_or(1, |index| index + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn faults(text: &str) -> Vec<String> {
        let mut findings = TidyFindings::default();
        check("crates/x/Cargo.toml", text, &mut findings).unwrap();
        findings.faults.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn inherited_dependencies_and_lints_are_fine() {
        let text = "[dependencies]\nserde.workspace = true\ntoml = { workspace = true, features = [\"x\"] }\n[lints]\nworkspace = true\n";

        assert_eq!(faults(text), Vec::<String>::new());
    }

    #[test]
    fn a_version_in_a_member_is_refused_with_its_line() {
        let found = faults("[dev-dependencies]\nserde = \"1\"\n[lints]\nworkspace = true\n");

        assert_eq!(found.len(), 1);
        assert!(found[0].starts_with("crates/x/Cargo.toml:2: serde is declared here"), "{found:?}");
    }

    #[test]
    fn a_package_that_heads_its_own_workspace_is_left_alone() {
        let text = "[workspace]\n[package]\nname = \"peer\"\n[dependencies]\nserde = \"1\"\n";

        assert_eq!(faults(text), Vec::<String>::new());
    }

    #[test]
    fn a_member_without_the_workspace_lints_is_refused() {
        assert!(faults("[package]\nname = \"x\"\n")[0].contains("the lints of the workspace"));
    }
}
