//! Creating, changing and reading schedules.

use cynode_domain::schedule::ScheduleRunStatus as Status;
use cynode_ops::schedules::ScheduleError;
use cynode_wire::schedules::{ScheduleQuery, UpdateSchedule};
use serde_json::{Value, json};

use super::world::Clockwork;
use crate::engines::on_each_engine;

on_each_engine! {
    what_makes_no_schedule_is_refused_with_what_to_write_instead,
    a_daily_time_is_due_when_the_clocks_of_its_zone_show_it,
    schedules_are_seen_by_their_owner_and_by_administrators_only,
    a_paused_schedule_is_never_due_and_a_resumed_one_counts_from_now,
    a_change_of_the_payload_keeps_the_time_that_is_waited_for,
    the_next_time_can_be_skipped_and_the_record_says_by_whom,
    no_more_than_a_hundred_times_ahead_are_skipped,
    what_is_done_with_a_schedule_is_told_with_who_did_it,
    a_schedule_fires_by_hand_also_while_it_is_paused,
    names_are_taken_once_and_schedules_are_bounded_for_each_user,
}

async fn refusal(clockwork: &Clockwork, request: Value) -> String {
    let request = serde_json::from_value(request).unwrap();
    clockwork.schedules.create(clockwork.fixture.bob(), request).await.unwrap_err().to_string()
}

fn update(request: Value) -> UpdateSchedule {
    serde_json::from_value(request).unwrap()
}

async fn what_makes_no_schedule_is_refused_with_what_to_write_instead() {
    let clockwork = Clockwork::new().await;
    for (request, words) in [
        (json!({ "name": "a", "cron": "every day", "prompt": "p" }), "five fields"),
        (json!({ "name": "a", "cron": "0 0 30 2 *", "prompt": "p" }), "never comes due"),
        (json!({ "name": "a", "every_s": 59, "prompt": "p" }), "allowed is 60"),
        (json!({ "name": "a", "at": "2020-01-01 03:00", "prompt": "p" }), "in the past"),
        (json!({ "name": "a", "at": "soon", "prompt": "p" }), "not a valid time"),
        (
            json!({ "name": "a", "every_s": 60, "time_zone": "Berlin", "prompt": "p" }),
            "Europe/Berlin",
        ),
        (json!({ "name": "a", "prompt": "p" }), "one of cron"),
        (json!({ "name": "a", "every_s": 60 }), "one of prompt"),
        (json!({ "name": "…", "every_s": 60, "prompt": "p" }), "letter"),
        (json!({ "name": "a", "every_s": 60, "prompt": " " }), "empty"),
        (json!({ "name": "a", "every_s": 60, "task": { "prompt": "p" } }), "put prose in prompt"),
        (json!({ "name": "a", "every_s": 60, "prompt": "p", "project": "x" }), "no project"),
    ] {
        let reported = refusal(&clockwork, request.clone()).await;
        assert!(reported.contains(words), "{request}: {reported}");
    }
}

async fn a_daily_time_is_due_when_the_clocks_of_its_zone_show_it() {
    let clockwork = Clockwork::new().await;

    let made = clockwork
        .make(json!({
            "name": "Early Bird", "cron": "0 3 * * *", "time_zone": "Asia/Kolkata", "prompt": "p",
        }))
        .await;

    assert_eq!((made.name.as_str(), made.state.as_str()), ("early-bird", "active"));
    let local = made.next_due_local.unwrap();
    assert!(local.ends_with("T03:00:00+05:30"), "{local}");
}

async fn schedules_are_seen_by_their_owner_and_by_administrators_only() {
    let clockwork = Clockwork::new().await;
    let made = clockwork.prose().await;
    let (bob, admin) = (clockwork.fixture.bob(), &clockwork.fixture.world.admin);
    let (eve, id) = (&clockwork.fixture.eve, made.id.to_string());
    let all = ScheduleQuery::default();

    assert_eq!(clockwork.schedules.list(bob, &all).await.unwrap().items.len(), 1);
    assert_eq!(clockwork.schedules.list(admin, &all).await.unwrap().items.len(), 1);
    assert_eq!(
        clockwork.schedules.get(admin, &id.as_str().into()).await.unwrap().owner_id,
        bob.user
    );
    assert_eq!(clockwork.schedules.list(eve, &all).await.unwrap().items.len(), 0);
    let hidden = clockwork.schedules.delete(eve, &id.as_str().into()).await;
    assert!(matches!(hidden, Err(ScheduleError::NotFound(_))));
    let hidden = clockwork.schedules.fire(eve, &"nightly".into()).await;
    assert!(matches!(hidden, Err(ScheduleError::NotFound(_))));
}

async fn a_paused_schedule_is_never_due_and_a_resumed_one_counts_from_now() {
    let clockwork = Clockwork::new().await;
    let made = clockwork.prose().await;
    let bob = clockwork.fixture.bob();

    let pause = update(json!({ "enabled": false }));
    let paused = clockwork.schedules.update(bob, &"nightly".into(), pause).await.unwrap();
    assert_eq!((paused.state.as_str(), paused.next_due_at), ("paused", None));
    clockwork.activate().await;
    assert!(clockwork.runs(made.id).await.is_empty());

    let resume = update(json!({ "enabled": true, "every_s": 60, "name": "Minutely" }));
    let resumed = clockwork.schedules.update(bob, &"nightly".into(), resume).await.unwrap();
    assert_eq!((resumed.state.as_str(), resumed.name.as_str()), ("active", "minutely"));
    assert!(resumed.next_due_at.unwrap() < made.next_due_at.unwrap());
}

async fn a_change_of_the_payload_keeps_the_time_that_is_waited_for() {
    let clockwork = Clockwork::new().await;
    let made = clockwork.prose().await;

    let task = json!({ "input_mode": "script", "prompt": "make" });
    let changed = update(json!({ "task": task }));
    let changed = clockwork
        .schedules
        .update(clockwork.fixture.bob(), &"nightly".into(), changed)
        .await
        .unwrap();

    assert_eq!(changed.next_due_at, made.next_due_at);
    assert_eq!((changed.prompt, changed.task.is_some()), (None, true));
}

async fn the_next_time_can_be_skipped_and_the_record_says_by_whom() {
    let clockwork = Clockwork::new().await;
    let made = clockwork.prose().await;

    let skipped =
        clockwork.schedules.skip_next(clockwork.fixture.bob(), &"nightly".into()).await.unwrap();

    let (first, second) = (made.next_due_at.unwrap(), skipped.next_due_at.unwrap());
    assert_eq!((second - first).num_seconds(), 3600);
    let run = clockwork.runs(made.id).await.remove(0);
    assert_eq!((run.status, run.due_at), (Status::Skipped, first));
    assert_eq!(run.summary, "requested by bob");
    let pause = update(json!({ "enabled": false }));
    clockwork.schedules.update(clockwork.fixture.bob(), &"nightly".into(), pause).await.unwrap();
    let nothing = clockwork.schedules.skip_next(clockwork.fixture.bob(), &"nightly".into()).await;
    assert!(matches!(nothing, Err(ScheduleError::NoNextTime("paused"))));
    let resume = update(json!({ "enabled": true }));
    let resumed = clockwork
        .schedules
        .update(clockwork.fixture.bob(), &"nightly".into(), resume)
        .await
        .unwrap();
    assert_eq!(resumed.next_due_at, Some(second), "what was to be skipped stays skipped");
}

async fn no_more_than_a_hundred_times_ahead_are_skipped() {
    let clockwork = Clockwork::new().await;
    clockwork.prose().await;
    let bob = clockwork.fixture.bob();
    for _ in 0..100 {
        clockwork.schedules.skip_next(bob, &"nightly".into()).await.unwrap();
    }

    let more = clockwork.schedules.skip_next(bob, &"nightly".into()).await;

    assert!(matches!(more, Err(ScheduleError::SkipLimit)));
}

async fn what_is_done_with_a_schedule_is_told_with_who_did_it() {
    let clockwork = Clockwork::new().await;
    clockwork.prose().await;
    let (bob, admin) = (clockwork.fixture.bob(), &clockwork.fixture.world.admin);
    let id = clockwork.schedules.get(bob, &"nightly".into()).await.unwrap().id.to_string();

    clockwork
        .schedules
        .update(admin, &id.as_str().into(), update(json!({ "every_s": 60 })))
        .await
        .unwrap();
    clockwork.schedules.skip_next(bob, &id.as_str().into()).await.unwrap();
    clockwork.schedules.fire(bob, &id.as_str().into()).await.unwrap();
    clockwork.schedules.delete(admin, &id.as_str().into()).await.unwrap();

    let reported = [("created", bob), ("updated", admin), ("skipped", bob), ("fired", bob)];
    let reported = reported.into_iter().chain([("deleted", admin)]);
    let reported: Vec<_> =
        reported.map(|(what, by)| (format!("schedule.{what}"), json!(by.handle))).collect();
    assert_eq!(clockwork.events().await, reported);
}

async fn a_schedule_fires_by_hand_also_while_it_is_paused() {
    let clockwork = Clockwork::new().await;
    let made = clockwork.prose().await;
    let bob = clockwork.fixture.bob();
    let pause = update(json!({ "enabled": false }));
    clockwork.schedules.update(bob, &"nightly".into(), pause).await.unwrap();

    let fired = clockwork.schedules.fire(bob, &"nightly".into()).await.unwrap();
    clockwork.activate().await;

    assert!(fired.manual);
    let run = clockwork.runs(made.id).await.remove(0);
    assert_eq!((run.id, run.status), (fired.id, Status::Done));
}

async fn names_are_taken_once_and_schedules_are_bounded_for_each_user() {
    let clockwork = Clockwork::new().await;
    let request =
        |number: u32| json!({ "name": format!("s{number}"), "every_s": 60, "prompt": "p" });
    for number in 0..100 {
        clockwork.make(request(number)).await;
    }

    assert!(refusal(&clockwork, request(100)).await.contains("delete one first"));
    clockwork.schedules.delete(clockwork.fixture.bob(), &"s7".into()).await.unwrap();
    assert!(refusal(&clockwork, request(8)).await.contains("choose another name"));
    clockwork.make(request(7)).await;
    let taken = update(json!({ "name": "s8" }));
    let taken = clockwork.schedules.update(clockwork.fixture.bob(), &"s7".into(), taken).await;
    assert!(matches!(taken, Err(ScheduleError::NameTaken(_))));
}
