//! Signs in a diff that evidence was manipulated: tests deleted, skipped or weakened, checks that cannot fail, settings that
//! keep tests from running.
//!
//! A sign is a reason to ask a person, not a proof.

mod definitions;
mod patch;

use cynode_domain::text::truncate_chars;

use crate::context::is_test_path;
use definitions::{is_check_definition, is_check_script, weakened_definitions};
use patch::{FileChange, parse_patch};

/// Marks that skip a test, in many languages.
const SKIPS: &[&str] = &[
    "#[ignore",
    "@pytest.mark.skip",
    "@unittest.skip",
    "pytest.skip(",
    "pytest.importorskip(",
    "self.skipTest(",
    "it.skip(",
    "test.skip(",
    "describe.skip(",
    "xit(",
    "xdescribe(",
    "xtest(",
    "t.Skip(",
    "t.Skipf(",
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
    "fit(",
    "fdescribe(",
    "pending(\"",
    "it.todo(",
    "test.todo(",
    "@pytest.mark.xfail",
    "@unittest.expectedFailure",
];
/// Marks that keep the tests of a file from being compiled or collected.
const EXCLUSIONS: &[&str] = &[
    "//go:build ",
    "// +build ",
    "#![cfg(any())]",
    "#[cfg(any())]",
    "#[cfg(never)]",
    "#![cfg(not(test))]",
    "#[cfg(not(test))]",
    "__test__ = False",
    "collect_ignore",
];
/// Ends of a process that report success.
const SUCCESSFUL_EXITS: &[&str] = &[
    "sys.exit(0)",
    "os._exit(0)",
    "process.exit(0)",
    "os.Exit(0)",
    "std::process::exit(0)",
    "exitstatus = 0",
    "process.exitCode = 0",
    "System.exit(0)",
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
    "assertTrue(True)",
    "assert 1 == 1",
    "assert_eq!(1, 1)",
    "Assert.True(true)",
];
/// Files that Python loads in place of a test runner or before it.
const SHADOWS: &[&str] = &["sitecustomize.py", "usercustomize.py", "pytest.py", "unittest.py"];

/// A suspicious change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TamperSign {
    pub path: String,
    /// What changed, for people.
    pub what: String,
}

/// Finds every sign of manipulation in a diff of git.
pub fn find_tampering(patch: &str) -> Vec<TamperSign> {
    let mut signs = vec![];
    for (path, change) in parse_patch(patch) {
        let found = signs_of_file(&path, &change);
        signs.extend(found.into_iter().map(|what| TamperSign { path: path.clone(), what }));
    }
    signs.dedup();
    signs
}

fn signs_of_file(path: &str, change: &FileChange<'_>) -> Vec<String> {
    let is_test = is_test_path(path);
    let is_definition = is_check_definition(path);
    if change.is_deleted {
        return match (is_test, is_definition) {
            (true, _) => vec!["a file of tests is deleted".to_owned()],
            (false, true) => vec!["a file that defines checks is deleted".to_owned()],
            (false, false) => vec![],
        };
    }
    let mut signs = vec![];
    if let Some(to) = &change.renamed_to {
        if is_test && !is_test_path(to) {
            signs.push("a file of tests is moved where tests are not found".to_owned());
        }
        if is_definition && !is_check_definition(to) {
            signs.push("a file that defines checks is moved".to_owned());
        }
    }
    let name = path.rsplit('/').next().unwrap_or(path);
    if change.is_new && SHADOWS.contains(&name) {
        signs.push("a file that takes the place of a test runner".to_owned());
    }
    for line in change.newly_added() {
        if let Some(mark) = SKIPS.iter().find(|mark| contains_mark(line, mark)) {
            signs.push(format!("a test is skipped or singled out: {mark}"));
        }
        if !is_test && !is_definition {
            continue;
        }
        if !change.is_new && EXCLUSIONS.iter().any(|mark| line.contains(mark)) {
            signs.push(format!("tests are kept from running: {}", shorten(line)));
        }
        if SUCCESSFUL_EXITS.iter().any(|exit| line.contains(exit)) {
            signs.push(format!("it reports success in any case: {}", shorten(line)));
        }
        if is_test && EMPTY_CHECKS.iter().any(|check| line.contains(check)) {
            signs.push(format!("a check that cannot fail: {}", shorten(line)));
        }
    }
    if is_test {
        signs.extend(removed_checks(change));
    }
    if is_definition || is_check_script(path) {
        signs.extend(weakened_definitions(path, change));
    }
    signs
}

fn removed_checks(change: &FileChange<'_>) -> Option<String> {
    let is_check = |line: &&&str| ASSERTIONS.iter().any(|word| line.contains(word));
    let count = |lines: &[&str]| lines.iter().filter(is_check).count();
    let (added, removed) = (count(&change.added), count(&change.removed));
    (removed > added).then(|| format!("tests have {} fewer checks", removed - added))
}

/// Whether a line has the mark outside of a longer word.
fn contains_mark(line: &str, mark: &str) -> bool {
    line.match_indices(mark).any(|(start, _)| {
        let before = line[..start].chars().next_back();
        !before.is_some_and(|letter| letter.is_alphanumeric() || letter == '_' || letter == '.')
    })
}

fn shorten(line: &str) -> &str {
    truncate_chars(line, 120)
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
            patch("package.json", &["-    \"test\": \"jest\",", "+    \"test\": \"true\","]),
            patch("package.json", &["-    \"test\": \"jest\",", "+    \"test\": \"echo ok\","]),
            patch("package.json", &["-    \"test:unit\": \"jest\",", "+    \"test:unit\": \"exit 0\","]),
            patch("package.json", &["+    \"testPathIgnorePatterns\": [\"/settings/\"]"]),
            patch("package.json", &["+    \"pretest\": \"rm -rf tests/settings\","]),
            patch("Makefile", &[" test:", "-\tpytest -q"]),
            patch("Makefile", &[" test:", "-\tpytest -q", "+\t@true"]),
            patch("Makefile", &[" check: build", "-\tcargo test", "+\t@echo passed"]),
            patch("Makefile", &[" test:", "-\tpytest -q", "+\t-pytest -q"]),
            patch("scripts/test.sh", &[" #!/bin/sh", "+exit 0", " pytest"]),
            patch("tests/run.sh", &["-grep -q x y", "+grep -q x y || true"]),
            patch("tests/run.sh", &["-grep -q x y", "+true"]),
            patch("pytest.ini", &["+addopts = --ignore=tests/test_settings.py"]),
            patch("pyproject.toml", &[" [tool.pytest.ini_options]", "+addopts = \"-k 'not settings'\""]),
            patch("setup.cfg", &[" [tool:pytest]", "+norecursedirs = tests"]),
            patch("tests/conftest.py", &["+collect_ignore = ['test_a.py']"]),
            patch("conftest.py", &["+def pytest_collection_modifyitems(items):", "+    items.clear()"]),
            patch("conftest.py", &["+    session.exitstatus = 0"]),
            patch("jest.config.js", &["-  testMatch: ['**/*.test.js'],", "+  testMatch: ['**/*.never.js'],"]),
            patch("vitest.config.ts", &["+    exclude: ['tests/settings.test.ts'],"]),
            patch(".mocharc.yml", &["+ignore: tests/settings.js"]),
            patch("Cargo.toml", &[" [lib]", "+test = false"]),
            patch("Cargo.toml", &[" [[test]]", "+harness = false"]),
            patch(".config/nextest.toml", &["+default-filter = 'not test(settings)'"]),
            patch("settings_test.go", &["+//go:build never"]),
            patch("tests/a.rs", &["+#![cfg(any())]"]),
            patch(".gitlab-ci.yml", &["+  allow_failure: true"]),
            patch(".github/workflows/ci.yml", &["+    if: false"]),
            patch(".github/workflows/ci.yml", &["-      - run: cargo test"]),
            patch("pom.xml", &["+    <skipTests>true</skipTests>"]),
            patch("build.gradle", &["+    ignoreFailures = true"]),
            patch("tests/setup.js", &["+process.exit(0)"]),
            "diff --git a/sitecustomize.py b/sitecustomize.py\nnew file mode 100644\n--- /dev/null\n+++ b/sitecustomize.py\n@@ -0,0 +1 @@\n+import os\n".to_owned(),
            "diff --git a/.github/workflows/ci.yml b/.github/workflows/ci.yml\ndeleted file mode 100644\n@@ -1 +0,0 @@\n-on: push\n".to_owned(),
            // Names that contain the separator of the two names.
            "diff --git a/x b/tests/b.py b/x b/tests/b.py\ndeleted file mode 100644\n@@ -1 +0,0 @@\n-x\n".to_owned(),
            "diff --git \"a/tests/\\303\\274.py\" \"b/tests/\\303\\274.py\"\ndeleted file mode 100644\n@@ -1 +0,0 @@\n-x\n".to_owned(),
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
            patch("package.json", &["+  \"lodash\": \"4.17.21\",", "-  \"lodash\": \"4.17.20\","]),
            patch("Makefile", &[" clean:", "-\trm -rf out", "+\trm -rf build"]),
            patch("Makefile", &[" test:", "-\tpytest -q", "+\tpytest -q --durations=5"]),
            patch("Makefile", &["-docs:", "-\tmdbook build"]),
            patch("Cargo.toml", &[" [dependencies]", "+serde = \"1\""]),
            patch("pyproject.toml", &[" dependencies = [", "+  \"requests\","]),
            patch("tests/run.sh", &["+grep -q dark settings.html"]),
            patch("scripts/deploy.sh", &["+exit 0"]),
            patch("build.gradle", &["+    implementation 'a:b:1'"]),
            patch(".github/workflows/ci.yml", &["-      - run: cargo test", "+      - run: cargo nextest run && cargo test --doc"]),
            patch("src/server.js", &["+process.exit(0)"]),
            "diff --git a/linux_test.go b/linux_test.go\nnew file mode 100644\n@@ -0,0 +1,2 @@\n+//go:build linux\n+package a\n".to_owned(),
            "diff --git a/scripts/check.sh b/scripts/check.sh\nnew file mode 100755\n@@ -0,0 +1,2 @@\n+grep -q x y || exit 1\n+exit 0\n".to_owned(),
        ];
        for case in cases {
            assert_eq!(find_tampering(&case), vec![], "{case}");
        }
    }

    #[test]
    fn no_sign_is_left_out() {
        let many: String = (0..50)
            .map(|number| patch(&format!("tests/a{number}.rs"), &["+    #[ignore]"]))
            .collect();

        assert_eq!(find_tampering(&many).len(), 50);
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
