//! The console as the orchestrator serves it.

use std::collections::BTreeSet;

use reqwest::Method;

use crate::harness::{HarnessResponse, OrchestratorHarness};

/// References of a file: sources and styles of the page, imports of a script, also those when a page is opened.
fn references(text: &str) -> Vec<String> {
    let quoted = |part: &str| part.split('"').next().unwrap_or_default().to_owned();
    let after = |mark: &'static str| text.split(mark).skip(1).map(quoted);
    let page = after("src=\"").chain(after("href=\"")).filter(|path| path.starts_with("/console/"));
    let imports = after(" from \"").chain(after("import(\""));
    page.chain(imports.map(|path| path.replacen("./", "/console/", 1))).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_root_links_to_the_console_for_browsers_and_names_it_for_others() {
    let harness = OrchestratorHarness::sqlite().await;
    let browser = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8";

    let page =
        HarnessResponse::send(harness.request(Method::GET, "/").header("accept", browser)).await;
    let text =
        HarnessResponse::send(harness.request(Method::GET, "/").header("accept", "*/*")).await;

    assert!(page.header("content-type").starts_with("text/html"));
    assert!(page.body.as_str().unwrap().contains("<a href=\"/console/\">"), "{}", page.body);
    assert!(text.header("content-type").starts_with("text/plain"));
    assert!(text.body.as_str().unwrap().contains("/console/"), "{}", text.body);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_console_and_everything_it_refers_to_are_served_to_anybody_under_a_strict_policy() {
    let harness = OrchestratorHarness::sqlite().await;
    let (mut seen, mut open) = (BTreeSet::new(), vec!["/console/".to_owned()]);

    while let Some(path) = open.pop() {
        if !seen.insert(path.clone()) {
            continue;
        }
        let answer = HarnessResponse::send(harness.request(Method::GET, &path)).await;

        assert_eq!(answer.status, 200, "{path}");
        let policy = answer.header("content-security-policy");
        assert!(policy.contains("script-src 'self';"), "{path}: {policy}");
        assert_eq!(answer.header("x-content-type-options"), "nosniff", "{path}");
        open.extend(references(answer.body.as_str().unwrap()));
    }

    assert!(seen.contains("/console/tools.js") && seen.len() > 10, "{seen:?}");
    let nothing = HarnessResponse::send(harness.request(Method::GET, "/console/nothing.js")).await;
    assert!(nothing.assert_problem(404).contains("there is no such route"));
}
