//! Every migration exists for both databases, under the same name.

use std::collections::BTreeSet;

use super::TidyFindings;
use crate::fault::Fault;

const ENGINES: &[&str] = &["postgres", "sqlite"];

/// Reports every migration that is missing for one of the databases.
pub fn check(paths: &[String], findings: &mut TidyFindings) {
    let of = |engine: &str| -> BTreeSet<&str> {
        let folder = format!("crates/store/migrations/{engine}/");
        paths.iter().filter_map(|path| path.strip_prefix(&folder)).collect()
    };
    let all: BTreeSet<&str> = ENGINES.iter().flat_map(|engine| of(engine)).collect();
    for engine in ENGINES {
        for missing in all.difference(&of(engine)) {
            findings.faults.push(Fault::new(
                format!("crates/store/migrations/{engine}/{missing}"),
                "is missing, while another database has it",
                "write the migration for both databases in one commit",
            ));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn faults(paths: &[&str]) -> Vec<String> {
        let paths: Vec<String> =
            paths.iter().map(|path| format!("crates/store/migrations/{path}")).collect();
        let mut findings = TidyFindings::default();
        check(&paths, &mut findings);
        findings.faults.into_iter().map(|fault| fault.at).collect()
    }

    #[test]
    fn a_migration_for_one_database_alone_is_refused() {
        assert_eq!(
            faults(&["postgres/0001_init.sql", "sqlite/0001_init.sql"]),
            Vec::<String>::new()
        );
        assert_eq!(
            faults(&["postgres/0002_more.sql"]),
            ["crates/store/migrations/sqlite/0002_more.sql"]
        );
    }
}
