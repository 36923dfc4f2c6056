//! Signs in a diff that evidence was manipulated: tests deleted, skipped or weakened, checks that cannot fail.
//!
//! A sign is a reason to ask a person, not a proof.

use std::collections::BTreeMap;

use crate::context::is_test_path;

/// The most signs that are listed.
const MAX_SIGNS: usize = 20;

/// Marks that skip a test, in many languages.
const SKIPS: &[&str] = &[
    "#[ignore",
    "@pytest.mark.skip",
    "@unittest.skip",
    "pytest.skip(",
    "self.skipTest(",
    "it.skip(",
    "test.skip(",
    "describe.skip(",
    "xit(",
    "xdescribe(",
    "xtest(",
    "t.Skip(",
    "t.SkipNow(",
    "@Disabled",
    "@Ignore",
    "[Ignore",
    "[Fact(Skip",
    "markTestSkipped(",
    "GTEST_SKIP",
    "it.only(",
    "describe.only(",
    "test.only(",
    "pending(\"",
    "it.todo(",
    "test.todo(",
];
/// Words of a check.
const ASSERTIONS: &[&str] = &[
    "assert", "expect(", "expect ", "require.", "should", "EXPECT_", "ASSERT_", "t.Error",
    "t.Fatal", "panic!",
];
/// Checks that hold whatever the program does.
const EMPTY_CHECKS: &[&str] = &[
    "assert!(true)",
    "assert True",
    "assert(true)",
    "expect(true).toBe(true)",
    "expect(true).toBeTruthy()",
    "assertTrue(true)",
    "assert 1 == 1",
    "assert_eq!(1, 1)",
    "Assert.True(true)",
];
/// Endings of commands that hide a failure.
const HIDES: &[&str] =
    &["|| true", "|| exit 0", "; exit 0", "continue-on-error: true", "--passWithNoTests", "set +e"];

/// A suspicious change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TamperSign {
    pub path: String,
    /// What changed, for people.
    pub what: String,
}

/// The changes of one file.
#[derive(Debug, Default)]
struct FileChange<'a> {
    added: Vec<&'a str>,
    removed: Vec<&'a str>,
    is_deleted: bool,
    renamed_to: Option<&'a str>,
}

/// Finds signs of manipulation in a diff of git.
pub fn find_tampering(patch: &str) -> Vec<TamperSign> {
    let mut signs = vec![];
    for (path, change) in parse_patch(patch) {
        let mut add = |what: String| signs.push(TamperSign { path: path.to_owned(), what });
        let is_test = is_test_path(path);
        if is_test && change.is_deleted {
            add("a file of tests is deleted".to_owned());
            continue;
        }
        if is_test && change.renamed_to.is_some_and(|to| !is_test_path(to)) {
            add("a file of tests is moved where tests are not found".to_owned());
        }
        for line in &change.added {
            let trimmed = line.trim();
            let was_there = change.removed.iter().any(|removed| removed.trim() == trimmed);
            if was_there {
                continue;
            }
            if let Some(mark) = SKIPS.iter().find(|mark| contains_mark(trimmed, mark)) {
                add(format!("a test is skipped or singled out: {mark}"));
            }
            if is_test && EMPTY_CHECKS.iter().any(|check| trimmed.contains(check)) {
                add(format!("a check that cannot fail: {}", shorten(trimmed)));
            }
            if is_check_definition(path) && HIDES.iter().any(|hide| trimmed.contains(hide)) {
                add(format!("a failure is hidden: {}", shorten(trimmed)));
            }
        }
        if is_test {
            let count = |lines: &[&str]| {
                lines
                    .iter()
                    .filter(|line| ASSERTIONS.iter().any(|word| line.contains(word)))
                    .count()
            };
            let (added, removed) = (count(&change.added), count(&change.removed));
            if removed > added {
                add(format!("tests have {} fewer checks", removed - added));
            }
        }
        if is_check_definition(path) {
            let removes = |word: &str| {
                let has = |lines: &[&str]| lines.iter().filter(|line| line.contains(word)).count();
                has(&change.removed) > has(&change.added)
            };
            if removes("\"test\"") || removes("test:") {
                add("the command of the tests is removed".to_owned());
            }
        }
    }
    signs.truncate(MAX_SIGNS);
    signs
}

/// Files that define how a project is checked.
fn is_check_definition(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    matches!(
        name,
        "package.json"
            | "Makefile"
            | "justfile"
            | "tox.ini"
            | "noxfile.py"
            | "Rakefile"
            | "pytest.ini"
    ) || path.starts_with(".github/workflows/")
        || path.starts_with(".gitlab-ci")
        || path.starts_with(".ci/")
}

/// Whether a line has the mark outside of a longer word.
fn contains_mark(line: &str, mark: &str) -> bool {
    line.match_indices(mark).any(|(start, _)| {
        let before = line[..start].chars().next_back();
        !before.is_some_and(|letter| letter.is_alphanumeric() || letter == '_')
    })
}

fn shorten(line: &str) -> String {
    line.chars().take(120).collect()
}

/// The changed lines of a diff by path.
fn parse_patch(diff: &str) -> BTreeMap<&str, FileChange<'_>> {
    let mut files: BTreeMap<&str, FileChange<'_>> = BTreeMap::new();
    let mut path = "";
    let mut is_body = false;
    for line in diff.lines() {
        if let Some(names) = line.strip_prefix("diff --git ") {
            // `a/PATH b/PATH`: both halves are equally long unless the file is renamed.
            path =
                names.split(" b/").next().and_then(|name| name.strip_prefix("a/")).unwrap_or(names);
            files.entry(path).or_default();
            is_body = false;
            continue;
        }
        let Some(file) = files.get_mut(path) else { continue };
        if line.starts_with("@@") {
            is_body = true;
        } else if !is_body {
            if line.starts_with("deleted file mode") {
                file.is_deleted = true;
            } else if let Some(to) = line.strip_prefix("rename to ") {
                file.renamed_to = Some(to);
            }
        } else if let Some(added) = line.strip_prefix('+') {
            file.added.push(added);
        } else if let Some(removed) = line.strip_prefix('-') {
            file.removed.push(removed);
        }
    }
    files
}

#[cfg(test)]
mod tests {
    use super::*;

    fn patch(path: &str, lines: &[&str]) -> String {
        format!(
            "diff --git a/{path} b/{path}\n--- a/{path}\n+++ b/{path}\n@@ -1,3 +1,3 @@\n{}\n",
            lines.join("\n")
        )
    }

    #[test]
    fn manipulated_tests_are_found_in_many_forms() {
        let cases = [
            patch("tests/a.rs", &["+    #[ignore]", " #[test]"]),
            patch("test_a.py", &["+@pytest.mark.skip(reason='slow')"]),
            patch("a.test.js", &["-  expect(sum(1, 2)).toBe(3);", "+  expect(true).toBe(true);"]),
            patch("a_test.go", &["-  t.Errorf(\"wrong\")"]),
            patch("src/__tests__/a.js", &["+  it.only('one', () => {"]),
            patch("package.json", &["-    \"test\": \"jest\",", "+    \"test\": \"jest || true\","]),
            patch(".github/workflows/ci.yml", &["+        continue-on-error: true"]),
            "diff --git a/tests/b.py b/tests/b.py\ndeleted file mode 100644\n--- a/tests/b.py\n+++ /dev/null\n@@ -1 +0,0 @@\n-x\n".to_owned(),
            "diff --git a/tests/b.py b/old/b.txt\nrename from tests/b.py\nrename to old/b.txt\n".to_owned(),
        ];
        for case in cases {
            assert!(!find_tampering(&case).is_empty(), "{case}");
        }
    }

    #[test]
    fn honest_changes_are_no_sign() {
        let cases = [
            patch("tests/a.rs", &["+#[test]", "+fn adds() {", "+    assert_eq!(add(1, 2), 3);"]),
            patch("tests/a.rs", &["-    assert_eq!(old(), 1);", "+    assert_eq!(new(), 1);"]),
            patch("src/exit.rs", &["+    // exit(1) quits; submit(x)"]),
            patch("src/lib.rs", &["-    assert!(x > 0);"]),
            patch("docs/specs/a.md", &["-the test expects nothing"]),
            patch("package.json", &["-  \"test\": \"jest\",", "+  \"test\": \"vitest run\","]),
        ];
        for case in cases {
            assert_eq!(find_tampering(&case), vec![], "{case}");
        }
    }

    #[test]
    fn any_text_is_a_diff() {
        for text in
            ["", "diff --git ", "diff --git a/\n@@\n+", "@@\n+x", "diff --git a/x b/x\n+++ y"]
        {
            let _ = find_tampering(text);
        }
    }
}
