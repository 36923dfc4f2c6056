//! Tasks, runs and schedules in the console: a real browser against a real system.

use std::fs;
use std::path::Path;

use cynode_domain::criteria::Criterion;
use cynode_domain::ids::RunId;
use cynode_wire::groups::CreateGroup;
use cynode_wire::projects::UpdateProject;
use cynode_wire::schedules::ScheduleQuery;
use cynode_wire::tasks::TaskView;

use crate::browser::TestBrowser;
use crate::console::{
    LAPTOP, PASSWORD, admin_password, assert_sound, create_user, open, signed_in,
    wait_for_status_message, wait_until,
};
use crate::console_projects::{
    ENTER, HOSTILE, LONG_NAME, assert_fits, is_absent, wait_until_absent,
};
use crate::repositories::{git, system_with_repository};
use crate::system::System;

/// Clicks a tab of the page of a task or a run.
async fn open_part(browser: &TestBrowser, part: &str) {
    browser.click(&format!(".tabs a[href$='/{part}']")).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn tasks_and_runs_are_created_read_and_steered_in_the_console() {
    let (system, _home, remote) = system_with_repository().await;
    let browser = signed_in(&system, LAPTOP, ("admin", &admin_password(&system))).await;

    let task = create_task(&system, &browser).await;
    let later = change_and_cancel(&system, &browser, &task).await;
    let (failed, retried) = answer_and_retry(&system, &browser, &task).await;
    read_run(&system, &browser, failed, retried).await;
    read_task(&system, &browser, &task).await;

    let address = format!("#/tasks/{}", task.id);
    let run = format!("#/tasks/runs/{retried}");
    let pages = [
        ("#/tasks".to_owned(), "main", LONG_NAME),
        ("#/tasks/runs".to_owned(), "main", LONG_NAME),
        (format!("#/tasks/new?from={}", task.id), "main", "are not copied"),
        (address.clone(), ".asked", HOSTILE),
        (format!("{address}/result"), "[data-step='3']", HOSTILE),
        (format!("{address}/logs"), ".log", HOSTILE),
        (format!("{address}/files"), "[data-file='report.txt']", "output"),
        (format!("{address}/timeline"), "[data-kind='run.retried']", "Retried by admin"),
        (format!("{address}/runs"), "[data-run]:nth-child(2)", "failed"),
        (run.clone(), ".facts", "Continues from"),
        (format!("{run}/history"), "[data-row='1']", "verify step result"),
        (format!("{run}/decisions"), "[data-decision]", "Decided by"),
        (format!("{run}/compare?to=2"), "[aria-label=Differences]", "/"),
        (format!("#/tasks/{later}"), "[data-dependency]", LONG_NAME),
    ];
    assert_fits(&browser, &pages).await;
    browser.resize(LAPTOP.0, LAPTOP.1).await;

    delete_files(&browser, &address).await;
    push_changes(&browser, &remote).await;
    read_as_others(&system, &task, retried).await;
}

/// Creates a task that waits for an approval, by the form and the keyboard.
async fn create_task(system: &System, browser: &TestBrowser) -> TaskView {
    let report = format!("echo '{HOSTILE}' | tee \"$CYNODE_ARTIFACTS_DIR/report.txt\"");
    let lines = ["echo one", "test -f seen || { touch seen; exit 1; }", report.as_str()];
    browser.type_into("#pages a[href='#/tasks']", ENTER).await;
    browser.wait_for_text(".nothing", "There are no tasks yet.").await;
    browser.type_into(".head .main", ENTER).await;
    browser.type_into("[name=work]", &lines.join("\n")).await;
    browser.type_into("[name=task_name]", LONG_NAME).await;
    browser.click("[data-group=limits] summary").await;
    browser.click("[name=approve_plan]").await;
    browser.type_into("[name=timeout_s]", "90").await;
    browser.click("[data-group=checks] summary").await;
    browser.type_into("[name=criteria]", "exit:zero").await;
    browser.click("[name=create]").await;
    browser.wait_for_text(".trouble", "“zero” is not an exit code.").await;
    browser.run("document.querySelector('[name=criteria]').value = 'file:report.txt'").await;
    browser.click("[name=create]").await;
    browser.wait_for_text("h1", LONG_NAME).await;
    browser.wait_for_text(".asks", "Approve this plan").await;
    browser.wait_for_text(".state", "waiting").await;
    let task = system.client.task_get(LONG_NAME).await.unwrap();
    let path = "report.txt".to_owned();
    assert_eq!(task.acceptance_criteria, [Criterion::FileExists { path }]);
    assert_eq!(task.commands, lines);
    task
}

/// Creates a task that waits for the first one, changes it and cancels it; returns its id.
async fn change_and_cancel(system: &System, browser: &TestBrowser, first: &TaskView) -> String {
    let notes = system.home().join("notes.txt");
    fs::write(&notes, "kept\n").unwrap();
    open(browser, "#/tasks/new").await;
    browser.wait_for_text("h1", "New task").await;
    browser.type_into("[name=work]", "cat attachments/notes.txt").await;
    browser.type_into("[name=task_name]", "later").await;
    browser.click("[data-group=files] summary").await;
    browser.type_into("[name=attachments]", notes.to_str().unwrap()).await;
    browser.type_into("[name=depends_on]", LONG_NAME).await;
    browser.click("[name=create]").await;
    browser.wait_for_text("[data-dependency]", LONG_NAME).await;
    browser.click("[data-verb=change]").await;
    browser.type_into("dialog [name=task_name]", " on").await;
    browser.click("dialog [type=submit]").await;
    browser.wait_for_text("h1", "later-on").await;
    let later = system.client.task_get("later-on").await.unwrap();
    assert_eq!(later.depends_on, [first.id]);

    // Nothing is canceled without a confirmation.
    browser.click("[data-verb=cancel]").await;
    browser.wait_for_text("dialog", "open tasks that depend on it").await;
    browser.click("dialog .actions button:first-child").await;
    wait_until_absent(browser, "dialog").await;
    browser.wait_for_text(".state", "queued").await;
    browser.click("[data-verb=cancel]").await;
    browser.click("dialog .danger").await;
    browser.wait_for_text(".state", "canceled").await;
    open_part(browser, "files").await;
    browser.wait_for_text("[data-file='notes.txt']", "attachment").await;

    // The address has the filter.
    open(browser, "#/tasks").await;
    browser.wait_for_text(&format!("[data-task='{LONG_NAME}']"), "waiting").await;
    browser.click("[aria-label=Status] option[value=canceled]").await;
    wait_until_absent(browser, &format!("[data-task='{LONG_NAME}']")).await;
    browser.wait_for_text("[data-task=later-on]", "canceled").await;
    assert_eq!(browser.run("return location.hash").await, "#/tasks?status=canceled");
    later.id.to_string()
}

/// Pauses, resumes, approves and retries the run of the task; returns its first run and the one that completed.
async fn answer_and_retry(
    system: &System,
    browser: &TestBrowser,
    task: &TaskView,
) -> (RunId, RunId) {
    open(browser, "#/tasks/runs?state=needs_answer").await;
    browser.wait_for_text("[data-run]", LONG_NAME).await;
    browser.click("[data-run] a").await;
    browser.wait_for_text(".asks", "Approve this plan").await;
    browser.click("[data-verb=pause]").await;
    wait_for_status_message(browser, "The run is paused.").await;
    browser.wait_for_text(".state", "paused").await;
    browser.click("[data-verb=resume]").await;
    wait_for_status_message(browser, "The run goes on.").await;
    browser.click("[data-reply=yes]").await;
    browser.wait_for_text(".state", "failed").await;
    browser.wait_for_text(".facts", "Step 2 of 3 failed").await;
    let failed = system.client.run_get(LONG_NAME).await.unwrap().run.id;

    browser.click("[data-verb=retry]").await;
    browser.wait_for_text("dialog", "Earlier steps are not repeated.").await;
    browser.click("dialog [type=submit]").await;
    browser.wait_for_text(".facts", "Continues from").await;
    browser.wait_for_text(".state", "completed").await;
    let retried = system.client.run_get(LONG_NAME).await.unwrap().run;
    assert_eq!((retried.task_id, retried.parent.unwrap().run_id), (task.id, failed));
    (failed, retried.id)
}

/// Reads the history and the decisions of a run, compares two rows, and forks one.
async fn read_run(system: &System, browser: &TestBrowser, failed: RunId, retried: RunId) {
    open_part(browser, "decisions").await;
    browser.wait_for_text("[data-decision=verify_step_result]", "rule").await;
    open(browser, &format!("#/tasks/runs/{failed}/history")).await;
    browser.wait_for_text("[data-act=pause]", "admin").await;
    browser.wait_for_text("[data-row='1']", "load task context").await;
    open(browser, &format!("#/tasks/runs/{retried}/history")).await;
    browser.wait_for_text("[data-row='1']", "verify step result").await;
    browser.click("[data-row='2'] a").await;
    browser.wait_for_text("[aria-label=Differences]", "/job").await;
    browser.run("document.querySelector('[name=to]').value = '999'").await;
    browser.click(".submission [type=submit]").await;
    browser.wait_for_text(".part .trouble", "has no row").await;

    open_part(browser, "history").await;
    browser.click("[data-row='1'] button").await;
    browser.type_into("dialog [name=task_name]", "forked").await;
    browser.click("dialog [type=submit]").await;
    browser.wait_for_text("h1", "forked").await;
    let parent = system.client.run_get("forked").await.unwrap().run.parent.unwrap();
    assert_eq!((parent.run_id, parent.sequence), (retried, 1));
}

/// Reads every part of the page of the completed task, and saves its file.
async fn read_task(system: &System, browser: &TestBrowser, task: &TaskView) {
    open(browser, &format!("#/tasks/{}", task.id)).await;
    browser.wait_for_text(".state", "verified").await;
    open_part(browser, "result").await;
    browser.wait_for_text("[data-step='2']", "touch seen").await;
    browser.wait_for_text("[data-step='3'] table", "file exists").await;
    browser.click("[data-job] summary").await;
    browser.wait_for_text("[data-job] .content", "one").await;
    open_part(browser, "logs").await;
    browser.wait_for_text(".log", HOSTILE).await;
    open_part(browser, "timeline").await;
    browser.wait_for_text("[data-kind='run.answered']", "Answered by admin").await;
    open_part(browser, "runs").await;
    browser.wait_for_text("[data-run]:nth-child(2)", "failed").await;

    open_part(browser, "files").await;
    browser.click("[data-file='report.txt'] [data-verb=view]").await;
    browser.wait_for_text("dialog pre", HOSTILE).await;
    assert_sound(browser, "a file").await;
    browser.click("dialog .title button").await;
    browser.save_downloads(system.home()).await;
    browser.click("[data-file='report.txt'] [data-verb=save]").await;
    let saved = system.home().join("report.txt");
    let content = wait_until("a download", async || {
        fs::read_to_string(&saved).ok().filter(|text| text.ends_with('\n'))
    });
    assert_eq!(content.await, format!("{HOSTILE}\n"));
}

async fn delete_files(browser: &TestBrowser, address: &str) {
    open(browser, &format!("{address}/files")).await;
    browser.click("[data-file='report.txt'] [data-verb=delete]").await;
    browser.wait_for_text("dialog", "it cannot be retried or forked").await;
    browser.click("dialog .danger").await;
    wait_for_status_message(browser, "1 file is deleted").await;
    wait_until_absent(browser, "[data-file='report.txt']").await;
}

/// A task that changes a repository: its patch is read, and pushed as a task of its own.
async fn push_changes(browser: &TestBrowser, remote: &Path) {
    open(browser, "#/tasks/new").await;
    browser.wait_for_text("h1", "New task").await;
    browser.type_into("[name=work]", "sed -i s/helo/hello/ greeting.txt").await;
    browser.type_into("[name=task_name]", "fix").await;
    browser.click("[data-group=repository] summary").await;
    browser.click("[name=source] option[value=url]").await;
    browser.type_into("[name=url]", remote.to_str().unwrap()).await;
    browser.click("[name=create]").await;
    browser.wait_for_text("h1", "fix").await;
    browser.wait_for_text(".state", "completed").await;
    open_part(browser, "changes").await;
    browser.wait_for_text("[data-file='greeting.txt'] ins", "+hello").await;
    assert_sound(browser, "the changes of a task").await;
    browser.click("[data-verb=push]").await;
    browser.wait_for_text("dialog", "Never the default branch").await;
    browser.click("dialog [type=submit]").await;
    browser.wait_for_text("h1", "push-fix").await;
    browser.wait_for_text(".state", "completed").await;
    assert_eq!(git(remote, &["show", "cynode/fix:greeting.txt"]), "hello");
    assert_eq!(git(remote, &["show", "main:greeting.txt"]), "helo");
}

/// A member of the group of the project reads the task and changes nothing; others do not see it.
async fn read_as_others(system: &System, task: &TaskView, run: RunId) {
    create_user(system, "ada").await;
    create_user(system, "eve").await;
    let group = CreateGroup { name: "sales".to_owned(), display_name: None };
    system.client.group_create(&group).await.unwrap();
    system.client.member_add("sales", "ada").await.unwrap();
    let shared = UpdateProject { group: Some("sales".to_owned()), ..UpdateProject::default() };
    system.client.project_update(&task.project_id.to_string(), &shared).await.unwrap();
    let pages = [
        (format!("#/tasks/{}", task.id), ".asked", HOSTILE),
        (format!("#/tasks/runs/{run}"), ".facts", "Continues from"),
    ];

    let browser = signed_in(system, LAPTOP, ("ada", PASSWORD)).await;
    for (page, selector, words) in &pages {
        open(&browser, page).await;
        browser.wait_for_text(selector, words).await;
        assert!(is_absent(&browser, "[data-verb]").await, "{page}");
    }
    browser.click("#leave").await;

    let browser = signed_in(system, LAPTOP, ("eve", PASSWORD)).await;
    for (page, ..) in &pages {
        open(&browser, page).await;
        browser.wait_for_text(".page-message", "you may not see it").await;
        open(&browser, "#/tasks").await;
        browser.wait_for_text(".nothing", "There are no tasks yet.").await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn schedules_are_created_fired_changed_and_deleted_in_the_console() {
    let system = System::new().await;
    create_user(&system, "eve").await;
    let browser = signed_in(&system, LAPTOP, ("admin", &admin_password(&system))).await;

    // A cron expression that the server refuses, and then one that it takes.
    open(&browser, "#/tasks/schedules").await;
    browser.wait_for_text(".nothing", "There are no schedules yet.").await;
    browser.click(".head .main").await;
    browser.type_into("[name=schedule_name]", LONG_NAME).await;
    browser.type_into("[name=cron]", "0 25 * * *").await;
    browser.run("document.querySelector('[name=time_zone]').value = 'Europe/Berlin'").await;
    browser.type_into("[name=work]", &format!("echo '{HOSTILE}'\necho done")).await;
    browser.click("[name=save]").await;
    browser.wait_for_text(".trouble", "write five fields").await;
    browser.run("document.querySelector('[name=cron]').value = '0 3 * * *'").await;
    browser.click("[name=save]").await;
    browser.wait_for_text("h1", LONG_NAME).await;
    browser.wait_for_text(".facts", "0 3 * * * (Europe/Berlin)").await;
    browser.wait_for_text(".facts", "03:00 Europe/Berlin").await;
    let made = system.client.schedule_get(LONG_NAME).await.unwrap();
    let commands = made.task.unwrap().commands;
    assert_eq!(commands, [format!("echo '{HOSTILE}'"), "echo done".to_owned()]);
    let address = format!("#/tasks/schedules/{}", made.id);

    browser.click("[data-verb=fire]").await;
    browser.wait_for_text("[data-status=done]", "a person").await;
    browser.wait_for_text("[data-status=done]", "completed").await;
    browser.click("[data-verb=skip]").await;
    browser.wait_for_text(".facts", "Skips").await;
    browser.click("[data-verb=pause]").await;
    browser.wait_for_text(".state", "paused").await;
    assert!(!system.client.schedule_get(LONG_NAME).await.unwrap().enabled);
    browser.click("[data-verb=resume]").await;
    browser.wait_for_text(".state", "active").await;

    // A new timing leaves the work as it is.
    browser.click(&format!(".verbs a[href='{address}/edit']")).await;
    browser.click("[name=timing] option[value=every]").await;
    browser.type_into("[name=every]", "2").await;
    browser.click("[name=unit] option[value=d]").await;
    browser.click("[name=save]").await;
    browser.wait_for_text(".facts", "every 2 d").await;
    let changed = system.client.schedule_get(LONG_NAME).await.unwrap();
    assert_eq!((changed.every_s, changed.cron), (Some(172_800), None));
    assert_eq!(changed.task.unwrap().commands, commands);

    let pages = [
        ("#/tasks/schedules".to_owned(), "main", LONG_NAME),
        (address.clone(), ".asked", HOSTILE),
        (format!("{address}/edit"), "h1", LONG_NAME),
        ("#/tasks/schedules/new".to_owned(), "h1", "New schedule"),
    ];
    assert_fits(&browser, &pages).await;
    browser.resize(LAPTOP.0, LAPTOP.1).await;

    let other = signed_in(&system, LAPTOP, ("eve", PASSWORD)).await;
    open(&other, &address).await;
    other.wait_for_text(".page-message", "you may not see it").await;
    open(&other, "#/tasks/schedules").await;
    other.wait_for_text(".nothing", "There are no schedules yet.").await;

    open(&browser, &address).await;
    browser.click("[data-verb=delete]").await;
    browser.wait_for_text("dialog", "The tasks that it created stay.").await;
    browser.click("dialog .danger").await;
    browser.wait_for_text("h1", "Schedules").await;
    let left = system.client.schedule_list(&ScheduleQuery::default()).await.unwrap();
    assert_eq!(left.items.len(), 0);
}
