//! Submitted work in the console: a real browser against a real system, with a scripted model.

use cynode_domain::ids::TaskId;
use cynode_domain::policy::AgentType;
use cynode_domain::status::ShownTaskStatus;
use cynode_testkit::provider::{Answer, ScriptedProvider};
use cynode_wire::agents::BindingView;
use cynode_wire::requests::{RequestQuery, RequestView, SubmitRequest};
use cynode_wire::tasks::CreateTask;
use nix::sys::signal::Signal;
use serde_json::{Value, json};

use crate::browser::TestBrowser;
use crate::console::{
    LAPTOP, PASSWORD, admin_password, assert_sound, create_user, open, signed_in,
    wait_for_status_message, wait_until,
};
use crate::project_manager::issue_bound_agent_client;
use crate::requests::{approved, finish, review, run, script_decisions, submission, system_on};
use crate::system::{System, SystemDatabase};
use crate::work::{commands, create_task_once};

/// Text that would run if a page parsed it, and a word that is wider than a phone.
const HOSTILE: &str =
    "Add a dark mode toggle <img src=x onerror=document.title=String(13*37)> to the settings page";
const LONG_NAME: &str = "anamewithoutanyspacethatiswiderthanthescreenofaphoneandisbroken";
const PHONE: (u32, u32) = (360, 740);
/// The parts of the page of a request.
const PARTS: [&str; 6] = ["", "/board", "/timeline", "/changes", "/evidence", "/logs"];

/// The request of this name.
async fn find(system: &System, name: &str) -> RequestView {
    system.client.request_get(name).await.unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_person_submits_answers_and_follows_a_request_in_the_console() {
    let provider = ScriptedProvider::start();
    let (system, _home, remote) = system_on(SystemDatabase::Embedded, &provider).await;
    script_decisions(&provider);
    // Three answers in a row without an action end the job of an agent; three such jobs ask a person.
    let lost = || vec![Answer::text("I do not know what to do."); 3];
    let add = "echo '<img src=x onerror=document.title=String(13*37)>' >> settings.html";
    let helped = [run(add), finish("added the toggle")];
    let turns = (0..6).flat_map(|_| lost()).chain(helped);
    provider.when_in_turn("# Implement main", turns);
    provider.when_in_turn("# Review main", review(&approved()));
    let browser = signed_in(&system, LAPTOP, ("admin", &admin_password(&system))).await;

    // Plan only: nothing is changed, and the form for the real request has the same text.
    browser.click(".head .button.main").await;
    browser.type_into("[name=text]", HOSTILE).await;
    browser.type_into("[name=url]", remote.to_str().unwrap()).await;
    browser.click("[name=dry-run]").await;
    browser.wait_for_text(".state", "completed").await;
    browser.wait_for_text("main", "dry run: nothing was changed").await;
    browser.wait_for_text("[data-unit='review:main']", "impl:main").await;
    browser.click(".verbs .button").await;
    browser.wait_for_text("h1", "New request").await;
    browser.click("details summary").await;
    browser.type_into("[name=name]", LONG_NAME).await;
    browser.type_into("[name=budget]", "2.5").await;
    browser.click("[name=submit]").await;
    browser.wait_for_text("h1", LONG_NAME).await;
    let request = find(&system, LONG_NAME).await;
    assert_eq!(request.text, HOSTILE);
    assert_eq!(request.settings.budget_micros, Some(2_500_000));
    assert!(!request.settings.dry_run, "{request:#?}");

    // The question of the agent arrives at home, without a reload, and the answer goes on from there.
    open(&browser, "#/home").await;
    browser.wait_for_text("[data-item=request]", "escalation").await;
    browser.wait_for_text("[data-item=request]", LONG_NAME).await;
    browser.type_into("[data-item=request] [name=text]", "Append <b>one</b> line").await;
    browser.click("[data-item=request] [data-reply=text]").await;
    wait_for_status_message(&browser, "Your answer is sent.").await;
    browser.wait_for_text(".nothing", "Nothing waits for you.").await;
    let address = format!("#/requests/{}", request.id);
    open(&browser, &address).await;
    browser.wait_for_text(".asks", "failed 3 times").await;
    assert!(provider.has_received("Append <b>one</b> line"), "the agent gets the answer");

    // A person pauses the request, resumes it, takes the unit over and hands it back.
    browser.click(".verbs button").await;
    browser.wait_for_text(".state", "paused").await;
    browser.click(".verbs .main").await;
    wait_for_status_message(&browser, "The request goes on.").await;
    assert_eq!(find(&system, LONG_NAME).await.paused_at, None);
    browser.click("[data-unit='impl:main'] [data-verb=take-over]").await;
    browser.click("dialog .danger").await;
    browser.wait_for_text("[data-unit='impl:main']", "developer · admin").await;
    browser.click("[data-unit='impl:main'] [data-verb=hand-back]").await;
    browser.type_into("dialog [name=comment]", "Keep the <i>heading</i>").await;
    browser.click("dialog [type=submit]").await;
    browser.wait_for_text(".state", "completed").await;
    browser.wait_for_text(".state", "verified").await;
    assert!(provider.has_received("Keep the <i>heading</i>"), "the agent gets the comment");

    assert_parts(&browser, &address).await;
    let attempt = request_attempt(&system, request.id).await;
    open(&browser, &format!("{address}/logs?task={attempt}")).await;
    browser.wait_for_text(".log", "run_command").await;
    browser.wait_for_text(".log", "<img src=x").await;

    assert_fits(&browser, &address).await;
}

/// Every part of the page of a request shows what happened.
async fn assert_parts(browser: &TestBrowser, address: &str) {
    for (part, selector, words) in [
        ("", ".asked", HOSTILE),
        ("", "[aria-label=Decisions]", "Append <b>one</b> line"),
        ("", "[data-unit='impl:main']", "built-in"),
        ("", "main", "of $2.50"),
        ("/board", "[data-column=Done] [data-unit='impl:main']", "7 attempts"),
        ("/timeline", "[data-kind='request.answered']", "Answered by admin"),
        ("/timeline", "[data-kind='request.taken_over']", "taken over by admin"),
        ("/timeline", "[data-kind='request.completed']", "delivered as branch"),
        ("/changes", "[data-file='settings.html'] ins", "+<img src=x onerror"),
        ("/evidence", "[data-attempt='review:main'] table", "settings.html:2"),
        ("/evidence", "[data-attempt='review:main']", "consider a transition"),
        ("/logs", ".toolbar select", "review:main, attempt 1: completed"),
    ] {
        open(browser, &format!("{address}{part}")).await;
        browser.wait_for_text(selector, words).await;
    }
}

/// Every page fits a laptop and a phone.
async fn assert_fits(browser: &TestBrowser, address: &str) {
    for size in [LAPTOP, PHONE] {
        browser.resize(size.0, size.1).await;
        for part in PARTS {
            open(browser, &format!("{address}{part}")).await;
            browser.wait_for_text("h1", LONG_NAME).await;
            assert_sound(browser, part).await;
        }
        for page in ["#/home", "#/requests", "#/requests/new"] {
            open(browser, page).await;
            browser.wait_for_text("main", "request").await;
            assert_sound(browser, page).await;
        }
    }
}

/// The last attempt at the implementation.
async fn request_attempt(system: &System, request: TaskId) -> TaskId {
    let view = system.client.request_get(&request.to_string()).await.unwrap();
    let unit = view.units.iter().find(|unit| unit.id == "impl:main").unwrap();
    unit.attempts.last().unwrap().task_id
}

#[tokio::test(flavor = "multi_thread")]
async fn a_person_decides_and_cancels_in_the_console_and_sees_no_request_of_others() {
    let provider = ScriptedProvider::start();
    let (mut system, _home, remote) = system_on(SystemDatabase::Embedded, &provider).await;
    let (ada, _) = create_user(&system, "ada").await;
    // The repository does not exist: the request waits in an early phase.
    let early = submission("Fix the typo in the heading", &remote.join("nowhere"));
    let hidden = SubmitRequest { name: Some("hidden".to_owned()), ..early.clone() };
    let hidden = system.client.request_submit(&hidden).await.unwrap();
    let own = SubmitRequest { name: Some("heading".to_owned()), ..early.clone() };
    let own = ada.request_submit(&own).await.unwrap();
    for number in 0..51 {
        let text = format!("Fix typo number {number} of the footer");
        let name = Some(format!("footer-{number}"));
        let body = SubmitRequest { name, text, ..early.clone() };
        let made = ada.request_submit(&body).await.unwrap();
        ada.task_cancel(&made.id.to_string()).await.unwrap();
    }

    // A deep link survives the sign-in.
    let browser = TestBrowser::open(LAPTOP.0, LAPTOP.1).await;
    let page = format!("{}/console/", system.announced.url);
    browser.visit(&format!("{page}#/requests/{}", own.id)).await;
    browser.type_into("[name=handle]", "ada").await;
    browser.type_into("[name=password]", PASSWORD).await;
    browser.click(".signin form button").await;
    browser.wait_for_text("h1", "heading").await;

    // An override, by the dialog; the page shows who decided.
    browser.click(".verbs button").await;
    browser.click("dialog [name=kind] option[value=feature_request]").await;
    browser.click("dialog [name=scope] option[value=medium]").await;
    browser.click("dialog [type=submit]").await;
    browser.wait_for_text("[aria-label=Decisions]", "decided by ada").await;
    let view = ada.request_get("heading").await.unwrap();
    assert_eq!(json!(view.kind.unwrap().value), "feature_request");
    assert_eq!(json!(view.scope.unwrap().value), "medium");

    // The question of the failed step is answered with a word; then the request is canceled.
    browser.wait_for_text(".asks", "needs you").await;
    browser.click(".verbs .danger").await;
    browser.click("dialog .danger").await;
    browser.wait_for_text(".state", "canceled").await;
    let view = ada.request_get("heading").await.unwrap();
    assert_eq!(view.status, ShownTaskStatus::Canceled);

    // The list: one page at a time, filtered by the server.
    open(&browser, "#/requests").await;
    let rows = "return document.querySelectorAll('[data-request]').length";
    browser.wait_for_text("main", "footer-50").await;
    assert_eq!(browser.run(rows).await, 50);
    browser.click(".more button:last-child").await;
    browser.wait_for_text("main", "heading").await;
    assert_eq!(browser.run(rows).await, 2);
    browser.click(".more button:first-child").await;
    browser.wait_for_text("main", "footer-50").await;
    browser.type_into("[type=search]", "NUMBER 7 ").await;
    browser.click(".toolbar button").await;
    let is_found = async || (browser.run(rows).await == 1).then_some(());
    wait_until("one row", is_found).await;
    browser.wait_for_text("[data-request]", "footer-7").await;
    open(&browser, "#/requests?state=open").await;
    browser.wait_for_text(".nothing", "No request matches.").await;

    // The request of the administrator is as absent as one that does not exist.
    open(&browser, &format!("#/requests/{}", hidden.id)).await;
    browser.wait_for_text(".page-message", "you may not see it").await;
    open(&browser, &format!("#/requests?text={}", hidden.name)).await;
    browser.wait_for_text(".nothing", "No request matches.").await;
    let all = RequestQuery { text: Some("hidden".to_owned()), ..RequestQuery::default() };
    assert_eq!(ada.request_list(&all).await.unwrap().items, vec![]);

    // A session that ended, and a server that does not answer.
    let ended = "sessionStorage.setItem('cynode.session', JSON.stringify({ token: 'cyn_gone' }))";
    browser.run(ended).await;
    browser.visit("about:blank").await;
    browser.visit(&format!("{page}#/home")).await;
    browser.wait_for_text(".trouble", "Your session has ended").await;
    browser.type_into("[name=handle]", "ada").await;
    browser.type_into("[name=password]", PASSWORD).await;
    browser.click(".signin form button").await;
    browser.wait_for_text("h1", "Home").await;
    system.stop(Signal::SIGTERM).await;
    browser.click("#pages a[href='#/requests']").await;
    browser.wait_for_text(".page-message", "CyNode cannot be reached").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_approval_and_a_question_of_an_agent_are_answered_at_home() {
    let system = System::new().await;
    let long = create_task_once(&system.client, commands(&["tail -f /dev/null"])).await;
    let job_id = wait_until("a job", async || {
        let result = system.client.task_result(&long.to_string()).await.unwrap();
        result.jobs.first().map(|job| job.id)
    });
    let job_id = Some(job_id.await);
    let binding = BindingView { task_id: Some(long), job_id, ..BindingView::default() };
    let developer = issue_bound_agent_client(&system, AgentType::Sandbox, binding).await;
    let about = |more: Value| {
        let mut all = json!({ "task_id": long, "agentRole": "developer" });
        all.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        all
    };
    let help = about(json!({ "helpType": "human", "issue": HOSTILE }));
    developer.mcp_call("apmas_request_help", &help).await.unwrap();
    let guarded = CreateTask { approve_plan: true, ..commands(&["echo approved"]) };
    let guarded = create_task_once(&system.client, guarded).await;
    let browser = signed_in(&system, LAPTOP, ("admin", &admin_password(&system))).await;

    browser.wait_for_text("[data-item=message]", HOSTILE).await;
    browser.type_into("[data-item=message] [name=text]", "Up to ten euros.").await;
    browser.click("[data-item=run] button").await;
    browser.wait_for_text("[data-item=run]", "echo approved").await;
    assert_sound(&browser, "home").await;
    browser.click("[data-item=run] [data-reply=yes]").await;
    wait_for_status_message(&browser, "Your answer is sent.").await;
    let is_gone = async || browser.text("[data-item=run]").await.is_empty().then_some(());
    wait_until("no answered question", is_gone).await;
    // What was typed elsewhere survives the new state of the page.
    let typed = "return document.querySelector('[data-item=message] [name=text]').value";
    assert_eq!(browser.run(typed).await, "Up to ten euros.");
    browser.click("[data-item=message] [data-reply=send]").await;
    browser.wait_for_text(".nothing", "Nothing waits for you.").await;

    let beat = about(json!({ "status": "working" }));
    let reported = developer.mcp_call("apmas_heartbeat", &beat).await.unwrap().structured.unwrap();
    assert_eq!(reported["instructions"][0]["instructions"], "Up to ten euros.", "{reported}");
    let closed = wait_until("the end of the approved task", async || {
        let task = system.client.task_get(&guarded.to_string()).await.unwrap();
        task.closed.then_some(task)
    });
    assert_eq!(closed.await.status, ShownTaskStatus::Completed);
}
