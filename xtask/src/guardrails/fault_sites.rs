//! Where the code has a deliberate fault, compared with the rows that declare one.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use anyhow::{Context as _, Result};

use super::requirements::Requirements;
use crate::fault::Fault;

/// How a fault is written; the id of its row follows.
const SITE: &str = "cynode_fault::fault!(\"";

/// The ids of all faults in the sources of crates, apps and this program.
pub fn read(root: &Path) -> Result<BTreeSet<String>> {
    let mut ids = BTreeSet::new();
    let mut open = vec![root.join("crates"), root.join("apps"), root.join("xtask/src")];
    while let Some(directory) = open.pop() {
        let entries = fs::read_dir(&directory)
            .with_context(|| format!("cannot list {}", directory.display()))?;
        for entry in entries {
            let path = entry?.path();
            if path.is_dir() {
                open.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                ids.extend(find(&fs::read_to_string(&path).unwrap_or_default()));
            }
        }
    }
    Ok(ids)
}

fn find(source: &str) -> impl Iterator<Item = String> {
    let after = source.split(SITE).skip(1);
    after
        .filter_map(|rest| rest.split_once('"').map(|(id, _)| id.to_owned()))
        .filter(|id| id.chars().all(|c| c.is_ascii_alphanumeric() || c == '-'))
}

/// Reports a declared fault that is not in the code, and a fault that no row declares.
pub fn check(sites: &BTreeSet<String>, requirements: &Requirements) -> Vec<Fault> {
    let declared: BTreeSet<&String> =
        requirements.rows.iter().filter(|row| row.fault.is_some()).map(|row| &row.id).collect();
    let at = |id: &str| format!("docs/requirements.toml {id}");
    let absent = declared.iter().filter(|id| !sites.contains(**id)).map(|id| {
        Fault::new(
            at(id),
            "declares a fault that is not in the code",
            format!("write cynode_fault::fault!({id:?}) where the row is decided"),
        )
    });
    let undeclared = sites.iter().filter(|id| !declared.contains(id)).map(|id| {
        Fault::new(at(id), "has a fault in the code and declares none", "add its `fault`")
    });
    absent.chain(undeclared).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn faults_of_code_and_rows_are_compared_both_ways() {
        let row = "[[requirement]]\nid = \"A-1\"\nseed = \"000\"\nlevel = \"must\"\ntext = \"x\"\n\
                   state = \"done\"\ntests = [\"a\"]\nfault = \"b\"\nfault_packages = [\"c\"]\n";
        let requirements = Requirements::parse(&format!("{row}[anchors]\n")).unwrap();
        let source = |id: &str| format!("if {SITE}{id}\") {{ return; }}");

        let same = check(&find(&source("A-1")).collect(), &requirements);
        let other = check(&find(&source("A-2")).collect(), &requirements);

        assert_eq!(same, []);
        let other: Vec<String> = other.iter().map(ToString::to_string).collect();
        assert!(other[0].contains("A-1: declares a fault that is not in the code"), "{other:?}");
        assert!(other[1].contains("A-2: has a fault in the code"), "{other:?}");
    }
}
