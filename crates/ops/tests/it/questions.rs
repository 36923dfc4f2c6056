//! Questions that are not answered in time.

use cynode_domain::ids::{RunId, TaskId};
use cynode_domain::question::{Answer, Question, QuestionKind, ReplyForm};
use cynode_domain::run::RunState;
use cynode_resources::Signals;
use cynode_runs::Sweeper;
use cynode_store::{Error, NewRunQuestion};
use serde_json::json;

use crate::catalogue::Catalogue;
use crate::engines::on_each_engine;

on_each_engine! {
    a_run_goes_on_without_an_answer_when_the_time_for_it_is_over,
}

fn new_question(run: RunId, task: TaskId, within_ms: i64) -> NewRunQuestion {
    NewRunQuestion {
        run,
        task,
        key: "1/plan_steps/ask/approve".to_owned(),
        asked_by: "plan_steps".to_owned(),
        question: Question {
            kind: QuestionKind::Approval,
            text: "Shall it?".to_owned(),
            about: vec![],
            accepts: vec![ReplyForm::Yes],
        },
        within_ms: Some(within_ms),
    }
}

async fn a_run_goes_on_without_an_answer_when_the_time_for_it_is_over() {
    for (within_ms, expected) in [(0, RunState::Queued), (3_600_000, RunState::NeedsAnswer)] {
        let fixture = Catalogue::new().await;
        let (run, task) = (fixture.task.run_id.unwrap(), fixture.task.id);
        let (store, clock) = (fixture.world.store.clone(), fixture.world.clock.clone());
        let made: Result<_, Error> = store
            .write(move |tx| {
                Box::pin(async move {
                    tx.question_insert(&new_question(run, task, within_ms)).await?;
                    tx.run_update_wait(run).await
                })
            })
            .await;
        made.unwrap();
        let signals = Signals::new(store.engine());
        let sweeper = Sweeper::new(store.clone(), signals, fixture.world.accounts.clone(), clock);

        for _ in 0..2 {
            sweeper.sweep_once().await.unwrap();
        }

        assert_eq!(fixture.runs.get(fixture.bob(), run).await.unwrap().state, expected);
        let effects: Result<_, Error> =
            store.read(move |tx| Box::pin(async move { tx.effect_list(run, 0).await })).await;
        let answers: Vec<_> = effects.unwrap().into_iter().map(|effect| effect.answer).collect();
        let late = vec![json!(Answer::too_late())];
        assert_eq!(answers, if expected == RunState::Queued { late } else { vec![] });
    }
}
