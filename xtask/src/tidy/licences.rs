//! The licences and origins of what we build on.
//!
//! This stands in for `cargo deny`: see ADR 10 for why, and for what it does not see (advisories).

use cargo_metadata::Metadata;

use super::Findings;
use crate::fault::Fault;

/// Licences that may be linked into an Apache-2.0 product without further duties than notice.
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

/// Reports every third-party package whose licence or origin is not on the list.
pub fn check(metadata: &Metadata, findings: &mut Findings) {
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
    // Old manifests write `MIT/Apache-2.0` for `MIT OR Apache-2.0`.
    let spaced = expression.replace('/', " OR ").replace('(', " ( ").replace(')', " ) ");
    let words: Vec<&str> = spaced.split_whitespace().collect();
    let mut parser = Parser { words: &words, at: 0 };
    let allowed = parser.any_of();
    allowed == Some(true) && parser.at == words.len()
}

/// A reader of SPDX expressions. `None` is an expression it cannot read.
struct Parser<'a> {
    words: &'a [&'a str],
    at: usize,
}

impl<'a> Parser<'a> {
    fn any_of(&mut self) -> Option<bool> {
        let mut allowed = self.all_of()?;
        while self.take("OR") {
            allowed |= self.all_of()?;
        }
        Some(allowed)
    }

    fn all_of(&mut self) -> Option<bool> {
        let mut allowed = self.one()?;
        while self.take("AND") {
            allowed &= self.one()?;
        }
        Some(allowed)
    }

    fn one(&mut self) -> Option<bool> {
        if self.take("(") {
            let allowed = self.any_of()?;
            return self.take(")").then_some(allowed);
        }
        let name = self.next()?;
        if self.take("WITH") {
            let with_exception = format!("{name} WITH {}", self.next()?);
            return Some(ALLOWED.contains(&with_exception.as_str()));
        }
        Some(ALLOWED.contains(&name))
    }

    fn next(&mut self) -> Option<&'a str> {
        let word = self.words.get(self.at).copied()?;
        self.at += 1;
        Some(word)
    }

    fn take(&mut self, word: &str) -> bool {
        let found = self.words.get(self.at) == Some(&word);
        self.at += usize::from(found);
        found
    }
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
            "(MIT OR Apache-2.0) AND Unicode-3.0",
            "Apache-2.0 WITH LLVM-exception OR Apache-2.0 OR MIT",
        ] {
            assert!(is_allowed(allowed), "{allowed}");
        }
        for refused in [
            "GPL-3.0-only",
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
