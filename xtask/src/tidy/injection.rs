//! No build that is shipped contains deliberate faults: no manifest enables their feature (ADR 56).

use anyhow::Result;
use toml::{Table, Value};

use super::TidyFindings;
use crate::fault::Fault;

const PACKAGE: &str = "cynode-fault";
const SECTIONS: &[&str] = &["dependencies", "dev-dependencies", "build-dependencies"];
const REMEDY: &str = "remove it: only `cargo xtask guardrails --mutate` enables deliberate faults";

/// Reports a manifest that enables a feature of `cynode-fault`, or has it by default.
pub fn check(path: &str, text: &str, findings: &mut TidyFindings) -> Result<()> {
    let manifest: Table = text.parse()?;
    let workspace = manifest.get("workspace").and_then(Value::as_table);
    for table in [Some(&manifest), workspace].into_iter().flatten() {
        let sections = SECTIONS.iter().filter_map(|section| table.get(*section)?.as_table());
        for dependency in sections.filter_map(|section| section.get(PACKAGE)) {
            if dependency.get("features").is_some() {
                findings.faults.push(Fault::new(path, "enables a feature of cynode-fault", REMEDY));
            }
        }
    }
    let features = manifest.get("features").and_then(Value::as_table);
    for (name, value) in features.into_iter().flatten() {
        let is_own_default = name == "default" && name_of(&manifest) == Some(PACKAGE);
        let enabled = value.as_array().into_iter().flatten().filter_map(Value::as_str);
        for feature in enabled {
            if is_own_default || feature.starts_with(PACKAGE) {
                let what = format!("feature {name} enables {feature} of deliberate faults");
                findings.faults.push(Fault::new(path, what, REMEDY));
            }
        }
    }
    Ok(())
}

fn name_of(manifest: &Table) -> Option<&str> {
    manifest.get("package")?.get("name")?.as_str()
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
    fn a_dependency_on_the_faults_without_features_is_fine() {
        let text =
            "[dependencies]\ncynode-fault.workspace = true\n[features]\notlp = [\"dep:x\"]\n";
        let own = "[package]\nname = \"cynode-fault\"\n[features]\ninjection = []\n";

        assert_eq!([faults(text), faults(own)].concat(), Vec::<String>::new());
    }

    #[test]
    fn every_way_to_ship_faults_is_refused() {
        for text in [
            "[dependencies]\ncynode-fault = { workspace = true, features = [\"injection\"] }\n",
            "[workspace.dependencies]\ncynode-fault = { path = \"x\", features = [\"injection\"] }\n",
            "[features]\nextra = [\"cynode-fault/injection\"]\n",
            "[features]\nextra = [\"cynode-fault?/injection\"]\n",
            "[package]\nname = \"cynode-fault\"\n[features]\ninjection = []\ndefault = [\"injection\"]\n",
        ] {
            assert_eq!(faults(text).len(), 1, "{text}");
        }
    }
}
