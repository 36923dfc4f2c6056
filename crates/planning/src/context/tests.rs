//! Contexts of projects of many kinds.

use super::*;

fn files(paths: &[&str], texts: &[(&str, &str)]) -> ProjectFiles {
    let mut all: Vec<String> = paths.iter().map(|&path| path.to_owned()).collect();
    all.extend(texts.iter().map(|(path, _)| (*path).to_owned()));
    let texts = texts.iter().map(|(path, text)| ((*path).to_owned(), (*text).to_owned())).collect();
    ProjectFiles { paths: all, texts }
}

#[test]
fn a_build_file_says_how_a_project_is_built_and_tested() {
    let cases: &[(&[&str], ProjectKind, &[&str])] = &[
        (&["Cargo.toml", "src/lib.rs", "tests/it.rs"], ProjectKind::Rust, &["cargo test"]),
        (&["go.mod", "main.go", "main_test.go"], ProjectKind::Go, &["go test ./..."]),
        (&["pyproject.toml", "tests/test_a.py"], ProjectKind::Python, &["python3 -m pytest -q"]),
        (&["shop.sln", "Shop.Tests/CartTests.cs"], ProjectKind::Dotnet, &["dotnet test"]),
        (&["pom.xml", "src/test/java/ATest.java"], ProjectKind::Java, &["mvn -q test"]),
        (&["gradlew", "build.gradle", "src/test/A.kt"], ProjectKind::Java, &["./gradlew test"]),
        (&["CMakeLists.txt", "tests/a.cpp"], ProjectKind::Cpp, &["ctest --test-dir build"]),
        (&["Gemfile", "test/a_test.rb"], ProjectKind::Ruby, &["bundle exec rake test"]),
        (&["composer.json", "tests/ATest.php"], ProjectKind::Php, &["vendor/bin/phpunit"]),
        (&["a.py", "test_a.py"], ProjectKind::Python, &["python3 -m unittest discover"]),
        (&["index.html", "style.css"], ProjectKind::Web, &[]),
        (&["notes.xyz"], ProjectKind::Unknown, &[]),
        (&["Cargo.toml", "src/lib.rs"], ProjectKind::Rust, &[]),
    ];
    for (paths, kind, tests) in cases {
        let context = derive_context(&files(paths, &[]));
        assert_eq!(
            (context.kind, context.test_commands.as_slice().len()),
            (*kind, tests.len()),
            "{paths:?}"
        );
        assert_eq!(context.test_commands, *tests, "{paths:?}");
    }
}

#[test]
fn scripts_of_a_package_are_its_commands() {
    let package =
        r#"{"scripts":{"test":"node --test","build":"tsc"},"devDependencies":{"typescript":"5"}}"#;
    let context = derive_context(&files(&["yarn.lock", "src/a.ts"], &[("package.json", package)]));
    let placeholder = r#"{"scripts":{"test":"echo \"Error: no test specified\" && exit 1"}}"#;
    let untested = derive_context(&files(&[], &[("package.json", placeholder)]));

    assert_eq!(context.build_commands, ["yarn install", "yarn run build"]);
    assert_eq!(context.test_commands, ["yarn test"]);
    assert!(context.has_tests && !untested.has_tests && untested.test_commands.is_empty());
}

#[test]
fn a_guide_comes_before_the_build_file() {
    let guide = "# Shop\n\n## Architecture\n\nThree layers: core, services, web.\nMore.\n\n## Build and Test Commands\n\n```sh\n$ just build all\njust test unit # fast\n```\n\n## Conventions\n- Naming: snake case\n- Errors are typed\n";
    let context = derive_context(&files(&["Cargo.toml", "tests/a.rs"], &[("CLAUDE.md", guide)]));

    assert_eq!(context.architecture, "Three layers: core, services, web. More.");
    assert_eq!(context.build_commands, ["just build all"]);
    assert_eq!(context.test_commands, ["just test unit"]);
    assert_eq!(context.patterns.get("Naming").map(String::as_str), Some("snake case"));
    assert_eq!(context.patterns.get("conventions").map(String::as_str), Some("Errors are typed"));
    assert_eq!(context.guide.as_deref(), Some(guide));
}

#[test]
fn a_makefile_with_a_test_target_is_used() {
    let makefile = "build:\n\tcc a.c\n\ntest: build\n\t./a.out\n";
    let context = derive_context(&files(&["a.c"], &[("Makefile", makefile)]));

    assert_eq!(context.test_commands, ["make test"]);
    assert_eq!(context.build_commands, ["make build"]);
}

#[test]
fn only_a_project_that_describes_itself_nowhere_needs_a_model() {
    let brief = derive_context(&files(&[], &[(BRIEF, "# A shop")]));
    let known = derive_context(&files(&["Cargo.toml"], &[]));
    let odd = derive_context(&files(&["main.zig", "build.zig"], &[]));

    assert!(brief.has_brief);
    assert_eq!([find_gap(&brief), find_gap(&known)], [None, None]);
    assert_eq!(find_gap(&odd), Some(ContextGap::Undescribed));
}

#[test]
fn paths_of_tests_are_known_in_every_language() {
    for path in [
        "tests/it.rs",
        "a_test.go",
        "src/a.test.ts",
        "test_a.py",
        "spec/a_spec.rb",
        "Shop.Tests/A.cs",
        "__tests__/a.js",
    ] {
        assert!(is_test_path(path), "{path}");
    }
    for path in
        ["src/contest.rs", "docs/specs/api.md", "latest.py", "src/attestation.go", "README.md"]
    {
        assert!(!is_test_path(path), "{path}");
    }
}

#[test]
fn long_texts_are_cut_at_a_line() {
    let text = "é\n".repeat(100);

    let cut = truncate(&text, 10);

    assert!(cut.starts_with("é\né\né\n[cut: "), "{cut}");
}
