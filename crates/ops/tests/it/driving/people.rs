//! Actions of people on runs, and questions of runs.

use cynode_domain::question::{Question, QuestionKind, Reply, ReplyForm};
use cynode_wire::run_suspension::SuspendForQuestion;
use cynode_wire::runs::AnswerRun;

use super::PersonAction;
use super::acts::{DrivingCase, expect};

impl DrivingCase<'_> {
    /// Applies an action of a person to a task or its run.
    pub(super) async fn person(&mut self, task: usize, verb: PersonAction) {
        match verb {
            PersonAction::Answer => self.answer(task).await,
            PersonAction::Pause => self.pause(task).await,
            PersonAction::Resume => self.resume(task).await,
            PersonAction::Cancel => self.cancel(task).await,
        }
    }

    async fn pause(&mut self, task: usize) {
        let run = self.driven.run_of(self.ids[task]).await;
        let paused =
            self.driven.steering.pause(&self.driven.world.admin, &run.as_str().into()).await;
        let model = &mut self.tasks[task];
        assert_eq!(paused.is_ok(), model.closed.is_none(), "{paused:?}");
        model.is_paused |= paused.is_ok();
    }

    async fn resume(&mut self, task: usize) {
        let run = self.driven.run_of(self.ids[task]).await;
        let resumed =
            self.driven.steering.resume(&self.driven.world.admin, &run.as_str().into()).await;
        let model = &mut self.tasks[task];
        assert_eq!(resumed.is_ok(), model.closed.is_none(), "{resumed:?}");
        model.is_paused &= resumed.is_err();
    }

    /// The same answer again is no error; an answer to nothing is.
    async fn answer(&mut self, task: usize) {
        let run = self.driven.run_of(self.ids[task]).await;
        let body = AnswerRun { reply: Reply::Yes {}, comment: None };
        let answered =
            self.driven.steering.answer(&self.driven.world.admin, &run.as_str().into(), body).await;
        let model = &mut self.tasks[task];
        let is_fit = model.closed.is_none() && model.questions > 0;
        assert_eq!(answered.is_ok(), is_fit, "{answered:?}");
        if is_fit && let Some(key) = model.open_question.take() {
            model.keys.insert(key.clone());
            model.effects.insert(key, None);
        }
    }

    /// A question ends the lease: no runner drives the run until it is answered.
    pub(super) async fn ask(&mut self, grant: usize) {
        let (_, task, lease) = self.grants[grant];
        let model = &mut self.tasks[task];
        let may_write = model.driver == Some(grant);
        let key = format!("{}/plan_steps/ask/{}", model.sequence + 1, model.questions);
        let question = Question {
            kind: QuestionKind::Approval,
            text: "Shall it be done?".to_owned(),
            about: vec![],
            accepts: vec![ReplyForm::Yes, ReplyForm::No],
        };
        let node = "plan_steps".to_owned();
        let body = SuspendForQuestion { lease, key: key.clone(), node, question };
        expect(self.driven.workflow.ask(body).await, may_write);
        if may_write {
            model.driver = None;
            model.questions += 1;
            model.open_question = Some(key);
        }
    }
}
