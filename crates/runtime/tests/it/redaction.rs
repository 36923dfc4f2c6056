//! Common kinds of secrets are redacted, and ordinary text is not.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use cynode_runtime::redact::{SecretKind, redact, redact_with_marker};
use cynode_testkit::planted_secrets;

const MARKER: &str = "SECRET_REDACTED";

/// Accepted false positives per 10,000 ordinary lines.
const TOLERATED_PER_10_000: usize = 10;

#[test]
fn every_common_kind_of_secret_is_found_and_named() {
    for secret in planted_secrets() {
        let found = redact_with_marker(&secret.text, MARKER);

        let name = secret.name;
        assert!(!found.text.contains(&secret.needle), "{name}: {}", found.text);
        assert!(found.text.contains(MARKER), "{name}: {}", found.text);
        let kinds: BTreeSet<&str> = found.kinds.iter().map(|kind| kind.as_str()).collect();
        assert!(kinds.contains(secret.kind), "{name}: {kinds:?}");
    }
}

#[test]
fn secrets_are_found_between_other_text_and_beside_each_other() {
    let all = planted_secrets();
    for pair in all.windows(2) {
        let text = format!("I tried this:\n{}\nand\n{}", pair[0].text, pair[1].text);
        let found = redact_with_marker(&text, MARKER);
        for secret in pair {
            assert!(!found.text.contains(&secret.needle), "{}: {}", secret.name, found.text);
        }
    }
}

#[test]
fn a_text_that_was_cleaned_is_clean() {
    for secret in planted_secrets() {
        let once = redact_with_marker(&secret.text, MARKER).text.into_owned();
        let twice = redact_with_marker(&once, MARKER);

        assert_eq!(twice.text, once, "{}", secret.name);
        assert_eq!(twice.kinds, BTreeSet::new(), "{}: {once}", secret.name);
    }
}

#[test]
fn the_sorts_of_several_secrets_are_each_named_once() {
    let all: Vec<String> = planted_secrets().into_iter().map(|secret| secret.text).collect();

    let kinds = redact_with_marker(&all.join("\n"), MARKER).kinds;

    let expected = BTreeSet::from([
        SecretKind::ApiKey,
        SecretKind::Token,
        SecretKind::Password,
        SecretKind::PrivateKey,
    ]);
    assert!(kinds.is_superset(&expected), "{kinds:?}");
}

/// Code of other languages, configuration, logs and prose that mention passwords without containing one.
const ORDINARY: &str = include_str!("ordinary.txt");

#[test]
fn hardly_any_line_of_other_languages_and_prose_is_taken_for_a_secret() {
    let lines: Vec<&str> = ORDINARY.lines().filter(|line| !line.trim().is_empty()).collect();
    let taken: Vec<&str> = lines.iter().copied().filter(|line| redact(line) != *line).collect();
    let (count, all) = (taken.len(), lines.len());
    eprintln!("{count} of {all} foreign lines were taken for secrets:\n{}", taken.join("\n"));

    assert!(all > 90 && count <= 1, "{count} of {all}");
}

#[test]
fn hardly_any_line_of_our_own_sources_and_documents_is_taken_for_a_secret() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut files = vec![];
    for folder in ["crates", "apps", "docs", "xtask/src"] {
        collect(&root.join(folder), &mut files);
    }
    let (mut lines, mut taken) = (0, vec![]);
    // Files about redaction contain sample secrets.
    let is_about_them = |file: &Path| {
        let path = file.to_string_lossy();
        path.contains("redact") || path.ends_with("testkit/src/secrets.rs")
    };
    for file in files.iter().filter(|file| !is_about_them(file)) {
        let text = fs::read_to_string(file).unwrap_or_default();
        for line in text.lines().filter(|line| !line.trim().is_empty()) {
            lines += 1;
            if redact(line) != line {
                taken.push(format!("{}: {}", file.display(), line.trim()));
            }
        }
    }
    let shown = taken.iter().take(60).map(String::as_str).collect::<Vec<_>>().join("\n");
    eprintln!("{} of {lines} ordinary lines were taken for secrets:\n{shown}", taken.len());

    assert!(lines > 10_000, "{lines}");
    assert!(taken.len() * 10_000 <= lines * TOLERATED_PER_10_000, "{} of {lines}", taken.len());
}

/// Rust sources and documents below a directory, except tests, which plant secrets.
fn collect(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        let name = entry.file_name().to_string_lossy().into_owned();
        if path.is_dir() && !["tests", "target", "node_modules"].contains(&name.as_str()) {
            collect(&path, files);
        } else if path.extension().is_some_and(|end| end == "rs" || end == "md") {
            files.push(path);
        }
    }
}
