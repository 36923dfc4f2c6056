//! The licences and origins of dependencies. This replaces `cargo deny`: see ADR 10 for the reason,
//! and for what it does not check (advisories).

use cargo_metadata::Metadata;
use spdx::{Expression, ParseMode};

use super::TidyFindings;
use crate::fault::Fault;

/// Licences that may be linked into an Apache-2.0 product with no obligation beyond notice.
const ALLOWED: &[&str] = &[
    "0BSD",
    "Apache-2.0",
    "Apache-2.0 WITH LLVM-exception",
    "BSD-2-Clause",
    "BSD-3-Clause",
    "BSL-1.0",
    "CC0-1.0",
    "CDLA-Permissive-2.0",
    "ISC",
    "MIT",
    "MIT-0",
    "OpenSSL",
    "Unicode-3.0",
    "Unlicense",
    "Zlib",
];

const CRATES_IO: &str = "registry+https://github.com/rust-lang/crates.io-index";

/// Old manifests write `MIT/Apache-2.0` for `MIT OR Apache-2.0`. A choice may contain licences that SPDX does not list or
/// has deprecated.
const SYNTAX: ParseMode = ParseMode {
    allow_slash_as_or_operator: true,
    allow_deprecated: true,
    allow_unknown: true,
    ..ParseMode::STRICT
};

/// Reports every third-party package whose licence or origin is not on the list.
pub fn check(metadata: &Metadata, findings: &mut TidyFindings) {
    let used = metadata.resolve.iter().flat_map(|resolve| &resolve.nodes);
    for package in used.map(|node| &metadata[&node.id]) {
        let Some(source) = &package.source else {
            continue;
        };
        let at = format!("package {} {}", package.name, package.version);
        if source.repr != CRATES_IO {
            findings.faults.push(Fault::new(
                at.clone(),
                format!("comes from {source}"),
                "take a release from crates.io",
            ));
        }
        let licence = package.license.as_deref().unwrap_or("nothing");
        if !is_allowed(licence) {
            findings.faults.push(Fault::new(
                at,
                format!("is licensed under {licence}"),
                "replace it, or add the licence to xtask/src/tidy/licences.rs with an ADR",
            ));
        }
    }
}

/// Whether an SPDX expression can be satisfied with allowed licences alone.
fn is_allowed(expression: &str) -> bool {
    Expression::parse_mode(expression, SYNTAX).is_ok_and(|expression| {
        expression.evaluate(|licence| ALLOWED.contains(&licence.to_string().as_str()))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_choice_needs_one_allowed_licence_and_a_sum_needs_all() {
        for allowed in [
            "MIT",
            "MIT/Apache-2.0",
            "GPL-3.0-only OR MIT",
            "GPL-3.0 OR MIT",
            "Surprise-1.0 OR MIT",
            "(MIT OR Apache-2.0) AND Unicode-3.0",
            "Apache-2.0 WITH LLVM-exception OR Apache-2.0 OR MIT",
        ] {
            assert!(is_allowed(allowed), "{allowed}");
        }
        for refused in [
            "GPL-3.0-only",
            "Surprise-1.0",
            "Apache-2.0 WITH Classpath-exception-2.0",
            "MIT AND GPL-3.0-only",
            "nothing",
            "(MIT",
            "MIT OR",
            "Apache-2.0 WITH Surprise-exception",
            "",
        ] {
            assert!(!is_allowed(refused), "{refused}");
        }
    }
}
