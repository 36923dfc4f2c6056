//! A minimal model of tasks.

use std::collections::{BTreeMap, BTreeSet};

#[derive(Debug, Default)]
pub(super) struct ModelTask {
    /// How it closed.
    pub(super) closed: Option<&'static str>,
    /// The grant that may write.
    pub(super) driver: Option<usize>,
    /// The grants made so far; each has a higher epoch than the one before.
    pub(super) epoch: i64,
    pub(super) sequence: i64,
    /// The grant that made the last transition.
    pub(super) last_saver: Option<usize>,
    /// Answers of effects since the last transition; those of people are not compared.
    pub(super) effects: BTreeMap<String, Option<usize>>,
    /// Keys of all effects: the first answer stays.
    pub(super) keys: BTreeSet<String>,
    /// Steps with a job.
    pub(super) steps: BTreeSet<u32>,
    /// Whether the last runner suspended the run: claims skip it for a while.
    pub(super) is_put_down: bool,
    pub(super) is_paused: bool,
    /// Number of questions.
    pub(super) questions: usize,
    /// The key of the unanswered question.
    pub(super) open_question: Option<String>,
}

impl ModelTask {
    /// Whether a claim may take it.
    pub(super) fn is_claimable(&self) -> bool {
        self.closed.is_none()
            && self.driver.is_none()
            && !self.is_put_down
            && !self.waits_for_people()
    }

    /// Whether a person must act before a runner may claim it.
    pub(super) fn waits_for_people(&self) -> bool {
        self.is_paused || self.open_question.is_some()
    }

    /// Gives it to a grant.
    pub(super) fn grant(&mut self, grant: usize) {
        self.driver = Some(grant);
        self.epoch += 1;
        self.is_put_down = false;
    }

    /// Completes a node.
    pub(super) fn save(&mut self, grant: usize) {
        self.sequence += 1;
        self.last_saver = Some(grant);
        self.effects.clear();
    }

    /// Closes the task.
    pub(super) fn close(&mut self, how: &'static str) {
        self.closed = Some(how);
        self.driver = None;
    }
}
