//! What a model adds to the context of a project that describes itself nowhere, and how long that counts.

use std::fs;
use std::path::Path;

use cynode_testkit::provider::{Answer, ScriptedProvider};
use cynode_wire::projects::CreateProject;
use cynode_wire::requests::RequestView;
use serde_json::{Value, json};

use crate::repositories::git;
use crate::requests::{
    approved, decide, finish, review, run, script_decisions, submission, system_with_project,
    wait_until_ended,
};
use crate::system::System;

const DESCRIBE: &str = "Describe this project. These are its files";
const ARCHITECTURE: &str = "A clock tower of plain text files, one for each bell";

/// Replaces the files of the project by some that say nothing about it.
fn undescribe(remote: &Path) {
    for path in ["AGENTS.md", "settings.html", "preferences.html", "tests/run.sh"] {
        git(remote, &["rm", "-q", path]);
    }
    fs::create_dir(remote.join("tower")).unwrap();
    for path in ["tower/great.bell", "tower/small.bell", "notes"] {
        fs::write(remote.join(path), "dong\n").unwrap();
    }
    git(remote, &["add", "."]);
    git(remote, &["commit", "--quiet", "-m", "bells"]);
}

fn description() -> Answer {
    decide(json!({
        "project_type": "text", "architecture": ARCHITECTURE,
        "key_paths": { "bells": "tower/", "secrets": "/etc/passwd" },
        "patterns": { "naming": "a bell is named after its size" },
        "build_commands": ["touch /tmp/never"], "has_tests": false, "has_ci": false,
    }))
}

fn count(provider: &ScriptedProvider, texts: &[&str]) -> usize {
    let requests = provider.requests();
    requests.iter().filter(|it| texts.iter().all(|text| it.text.contains(text))).count()
}

/// The events about reading and planning of a request.
async fn plan_only(
    system: &System,
    remote: &Path,
    text: &str,
    project: Option<&str>,
) -> RequestView {
    let mut body = submission(text, remote);
    body.settings.dry_run = true;
    body.project = project.map(str::to_owned);
    let submitted = system.client.request_submit(&body).await.unwrap();
    wait_until_ended(system, &submitted.name).await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_model_describes_a_silent_project_once_for_each_tree_and_agents_are_told() {
    let provider = ScriptedProvider::start();
    let (system, _home, remote) = system_with_project(&provider).await;
    undescribe(&remote);
    script_decisions(&provider);
    provider.when(DESCRIBE, description());
    let work = [run("echo dong > tower/third.bell"), finish("added the bell")];
    provider.when_in_turn("# Implement main", work.clone().into_iter().chain(work));
    let reviews = || review(&approved());
    provider.when_in_turn("# Review main", reviews().into_iter().chain(reviews()));

    for (number, text) in ["Add a third bell to the tower", "Add a bell of bronze to the tower"]
        .into_iter()
        .enumerate()
    {
        let submitted = system.client.request_submit(&submission(text, &remote)).await.unwrap();
        let view = wait_until_ended(&system, &submitted.name).await;

        assert_eq!(view.architecture.as_deref(), Some(ARCHITECTURE), "{view:#?}");
        assert_eq!(count(&provider, &[DESCRIBE]), 1, "asked again for request {number}");
        // The agent is told what the model said, and no path that does not exist.
        for said in [ARCHITECTURE, "a bell is named after its size", "tower/"] {
            assert!(count(&provider, &["# Implement main", text, said]) > 0, "{said}");
        }
        assert_eq!(count(&provider, &["# Implement main", "/etc/passwd"]), 0);
        // Commands that a model made up run nowhere.
        assert_eq!(view.test_commands, Vec::<String>::new());
    }
    assert!(!Path::new("/tmp/never").exists());

    // Another project of the same user knows nothing of it.
    let project = CreateProject {
        display_name: "Other".to_owned(),
        description: String::new(),
        ..<_>::default()
    };
    let other = system.client.project_create(&project).await.unwrap();
    let view = plan_only(&system, &remote, "Add a fourth bell", Some(&other.id.to_string())).await;
    assert_eq!(view.architecture.as_deref(), Some(ARCHITECTURE));
    assert_eq!(count(&provider, &[DESCRIBE]), 2);

    // Another tree is described again.
    fs::write(remote.join("tower/broken.bell"), "clonk\n").unwrap();
    git(&remote, &["add", "."]);
    git(&remote, &["commit", "--quiet", "-m", "a broken bell"]);
    plan_only(&system, &remote, "Add a fifth bell", None).await;
    assert_eq!(count(&provider, &[DESCRIBE]), 3);
    plan_only(&system, &remote, "Add a sixth bell", None).await;
    assert_eq!(count(&provider, &[DESCRIBE]), 3);
    let request: Vec<Value> = provider
        .requests()
        .into_iter()
        .filter(|it| it.text.contains(DESCRIBE))
        .map(|it| it.body)
        .collect();
    assert!(request[2].to_string().contains("tower/broken.bell"), "{request:#?}");
}
