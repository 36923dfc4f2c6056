//! Build files: the kind of a project, and the commands that build and test it.

use cynode_domain::work_kind::ProjectKind;
use serde_json::Value;

use super::ProjectFiles;

/// What the build files say.
pub(super) struct BuildFacts {
    pub(super) kind: ProjectKind,
    pub(super) build_commands: Vec<String>,
    pub(super) test_commands: Vec<String>,
    /// Whether a build file defines a test command, so that there are tests wherever they are.
    pub(super) declares_tests: bool,
}

/// Build files at the root, in the order of preference: file name or ending, kind, build and test command.
const MARKERS: &[(&str, ProjectKind, &str, &str)] = &[
    ("Cargo.toml", ProjectKind::Rust, "cargo build", "cargo test"),
    ("go.mod", ProjectKind::Go, "go build ./...", "go test ./..."),
    ("pyproject.toml", ProjectKind::Python, "", "python3 -m pytest -q"),
    ("setup.py", ProjectKind::Python, "", "python3 -m pytest -q"),
    ("requirements.txt", ProjectKind::Python, "", "python3 -m unittest discover"),
    (".sln", ProjectKind::Dotnet, "dotnet build", "dotnet test"),
    (".csproj", ProjectKind::Dotnet, "dotnet build", "dotnet test"),
    ("pom.xml", ProjectKind::Java, "mvn -q compile", "mvn -q test"),
    ("gradlew", ProjectKind::Java, "./gradlew assemble", "./gradlew test"),
    ("build.gradle", ProjectKind::Java, "gradle assemble", "gradle test"),
    ("build.gradle.kts", ProjectKind::Java, "gradle assemble", "gradle test"),
    ("Gemfile", ProjectKind::Ruby, "bundle install", "bundle exec rake test"),
    ("composer.json", ProjectKind::Php, "composer install", "vendor/bin/phpunit"),
    (
        "CMakeLists.txt",
        ProjectKind::Cpp,
        "cmake -B build && cmake --build build",
        "ctest --test-dir build",
    ),
    (
        "meson.build",
        ProjectKind::Cpp,
        "meson setup build && meson compile -C build",
        "meson test -C build",
    ),
];

/// Detects the kind and the commands of a project.
pub(super) fn detect(files: &ProjectFiles) -> BuildFacts {
    if files.has_root_file("package.json") {
        return from_package_json(files);
    }
    let marker = MARKERS.iter().find(|(name, ..)| {
        files.has_root_file(name) || (name.starts_with('.') && files.has_root_suffix(name))
    });
    let mut facts = match marker {
        Some((_, kind, build, test)) => BuildFacts {
            kind: *kind,
            build_commands: commands(build),
            test_commands: commands(test),
            declares_tests: false,
        },
        None => BuildFacts {
            kind: kind_by_endings(files),
            build_commands: vec![],
            test_commands: vec![],
            declares_tests: false,
        },
    };
    apply_makefile(files, &mut facts);
    if facts.kind == ProjectKind::Python && facts.test_commands.is_empty() {
        facts.test_commands = commands("python3 -m unittest discover");
    }
    facts
}

/// The targets `build` and `test` of a Makefile come before the commands of the tool chain.
fn apply_makefile(files: &ProjectFiles, facts: &mut BuildFacts) {
    let Some(text) = files.text("Makefile") else { return };
    let has_target = |name: &str| {
        text.lines().any(|line| line.strip_prefix(name).is_some_and(|rest| rest.starts_with(':')))
    };
    if facts.kind == ProjectKind::Unknown {
        facts.kind = ProjectKind::Make;
    }
    if has_target("build") {
        facts.build_commands = commands("make build");
    }
    for target in ["test", "check"] {
        if has_target(target) {
            facts.test_commands = commands(&format!("make {target}"));
            facts.declares_tests = true;
            return;
        }
    }
}

fn from_package_json(files: &ProjectFiles) -> BuildFacts {
    let text = files.text("package.json").unwrap_or_default();
    let package: Value = serde_json::from_str(text).unwrap_or_default();
    let script = |name: &str| package["scripts"][name].as_str().is_some();
    let runner = if files.has_root_file("pnpm-lock.yaml") {
        "pnpm"
    } else if files.has_root_file("yarn.lock") {
        "yarn"
    } else {
        "npm"
    };
    let has_dependencies = ["dependencies", "devDependencies"]
        .iter()
        .any(|key| package[key].as_object().is_some_and(|all| !all.is_empty()));
    let mut build_commands = vec![];
    if has_dependencies {
        build_commands.push(format!("{runner} install"));
    }
    if script("build") {
        build_commands.push(format!("{runner} run build"));
    }
    // The placeholder that `npm init` writes always fails.
    let is_placeholder = |text: &str| text.contains("no test specified");
    let declared = package["scripts"]["test"].as_str().filter(|script| !is_placeholder(script));
    BuildFacts {
        kind: ProjectKind::Node,
        build_commands,
        test_commands: declared.map(|_| format!("{runner} test")).into_iter().collect(),
        declares_tests: declared.is_some(),
    }
}

/// The kind of most files, where no build file says it.
fn kind_by_endings(files: &ProjectFiles) -> ProjectKind {
    const ENDINGS: &[(&str, ProjectKind)] = &[
        (".rs", ProjectKind::Rust),
        (".py", ProjectKind::Python),
        (".go", ProjectKind::Go),
        (".js", ProjectKind::Node),
        (".ts", ProjectKind::Node),
        (".java", ProjectKind::Java),
        (".kt", ProjectKind::Java),
        (".cs", ProjectKind::Dotnet),
        (".c", ProjectKind::Cpp),
        (".cpp", ProjectKind::Cpp),
        (".rb", ProjectKind::Ruby),
        (".php", ProjectKind::Php),
        (".html", ProjectKind::Web),
    ];
    let count = |ending: &str| files.paths.iter().filter(|path| path.ends_with(ending)).count();
    if count(".html") > 0 && count(".py") == 0 {
        return ProjectKind::Web;
    }
    let most =
        ENDINGS.iter().map(|(ending, kind)| (count(ending), *kind)).max_by_key(|(count, _)| *count);
    most.filter(|(count, _)| *count > 0).map_or(ProjectKind::Unknown, |(_, kind)| kind)
}

fn commands(line: &str) -> Vec<String> {
    if line.is_empty() { vec![] } else { vec![line.to_owned()] }
}
