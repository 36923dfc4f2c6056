//! The size of a crate: a reader keeps it in mind as one thing.

use std::collections::BTreeMap;

use super::TidyFindings;
use super::sources::lines_without_tests;
use crate::fault::Fault;

/// Lines of `src` without tests above which a crate is rejected.
const CRATE_LINES: usize = 12_000;

/// Crates that may be larger, with the reason.
const LARGER: &[(&str, &str)] = &[(
    "crates/store",
    "statements are methods of `Tx`, and inherent methods are defined in the crate of their type",
)];

/// The lines of each crate, as far as its files were added.
#[derive(Debug, Default)]
pub struct CrateSizes(BTreeMap<String, usize>);

impl CrateSizes {
    /// Counts a Rust file.
    pub fn add(&mut self, path: &str, text: &str) {
        let Some((name, file)) = path.split_once("/src/") else { return };
        let is_test = file == "tests.rs" || file.ends_with("/tests.rs") || file.contains("tests/");
        if !is_test {
            *self.0.entry(name.to_owned()).or_default() += lines_without_tests(text);
        }
    }

    /// Reports crates that are too large, and exceptions that are not needed.
    pub fn check(&self, findings: &mut TidyFindings) {
        for (name, lines) in &self.0 {
            let is_larger = LARGER.iter().any(|(larger, _)| larger == name);
            if *lines > CRATE_LINES && !is_larger {
                findings.faults.push(Fault::new(
                    name,
                    format!("has {lines} lines without its tests; {CRATE_LINES} is the limit"),
                    "move a feature that little else depends on into a crate of its own",
                ));
            }
            if *lines <= CRATE_LINES && is_larger {
                findings.faults.push(Fault::new(
                    name,
                    format!("has {lines} lines, and is an exception to the limit of {CRATE_LINES}"),
                    "remove it from LARGER in xtask/src/tidy/crate_size.rs",
                ));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn faults(files: &[(&str, usize)]) -> Vec<String> {
        let (mut sizes, mut findings) = (CrateSizes::default(), TidyFindings::default());
        for (path, lines) in files {
            sizes.add(path, &"x\n".repeat(*lines));
        }
        sizes.check(&mut findings);
        findings.faults.into_iter().map(|fault| format!("{}: {}", fault.at, fault.what)).collect()
    }

    #[test]
    fn a_crate_above_the_limit_is_refused_and_its_tests_do_not_count() {
        let small = [("crates/ops/src/a.rs", CRATE_LINES), ("crates/ops/src/a/tests.rs", 500)];
        assert_eq!(faults(&small), Vec::<String>::new());
        assert_eq!(faults(&[("crates/ops/tests/it/a.rs", CRATE_LINES + 1)]), Vec::<String>::new());

        let large = faults(&[("crates/ops/src/a.rs", CRATE_LINES), ("crates/ops/src/b.rs", 1)]);
        assert_eq!(large, ["crates/ops: has 12001 lines without its tests; 12000 is the limit"]);
    }

    #[test]
    fn an_exception_that_is_not_needed_is_refused() {
        assert_eq!(faults(&[("crates/store/src/a.rs", CRATE_LINES + 1)]), Vec::<String>::new());
        assert!(faults(&[("crates/store/src/a.rs", 1)])[0].contains("is an exception"));
    }
}
