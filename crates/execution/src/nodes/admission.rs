//! Admission of agent profiles: a node runs the program of a profile after it has passed the canary run of exactly its
//! revision.
//!
//! A waiting job has the revision that was current when it was created. The assignment pass replaces an outdated one, and
//! closes a job whose profile was deleted: neither could ever be placed.

use std::collections::{HashMap, HashSet};

use cynode_domain::ids::{NodeId, UserId};
use cynode_domain::job::JobEnding;
use cynode_domain::status::JobStatus;
use cynode_store::{AgentProfile, Job, Node, Tx};
use cynode_wire::agent_profiles::{AGENT_PROFILES_FEATURE, AgentAssignment};
use cynode_wire::jobs::{JobResult, Truncated};
use serde_json::{Value, json};

use super::assign::{BATCH, has_feature, suitable_nodes};
use super::report::close_job;
use crate::workflow::job_creation::{narrow_agent, profile_of};

/// The most pages of waiting jobs of a user that one pass reads.
const MAX_PAGES: u32 = 20;

/// The current revisions of agent profiles, and the nodes that passed their canary runs.
#[derive(Debug, Default)]
pub(crate) struct AgentAdmissions {
    revisions: HashMap<String, u32>,
    nodes: HashSet<(String, NodeId)>,
    is_loaded: bool,
}

impl AgentAdmissions {
    pub(crate) async fn load(tx: &mut Tx) -> Result<Self, cynode_store::Error> {
        let mut loaded = Self { is_loaded: true, ..Self::default() };
        for row in tx.agent_admission_list().await? {
            if let Some(node) = row.node {
                loaded.nodes.insert((row.profile.clone(), node));
            }
            loaded.revisions.insert(row.profile, row.revision);
        }
        Ok(loaded)
    }

    /// Loads them if the job needs an admission; empty otherwise.
    pub(super) async fn load_for(tx: &mut Tx, job: &Job) -> Result<Self, cynode_store::Error> {
        if needs_admission(job) { Self::load(tx).await } else { Ok(Self::default()) }
    }

    /// Whether the node may run the agent of the job.
    pub(super) fn admits(&self, job: &Job, node: &Node) -> bool {
        let agent = &job.spec.payload["agent"];
        if agent.is_null() {
            return true;
        }
        let profile = agent["profile"].as_str().unwrap_or_default();
        let is_current = self.revision(profile).is_some_and(|current| agent["revision"] == current);
        has_feature(node, AGENT_PROFILES_FEATURE)
            && (is_canary(agent) || (is_current && self.has_passed(profile, node.id)))
    }

    /// The current revision of a profile; `None` if it does not exist.
    pub(crate) fn revision(&self, profile: &str) -> Option<u32> {
        self.revisions.get(profile).copied()
    }

    /// Whether the node passed the canary run of the profile's current revision.
    pub(crate) fn has_passed(&self, profile: &str, node: NodeId) -> bool {
        self.nodes.contains(&(profile.to_owned(), node))
    }
}

/// The agent of a job that is created or refreshed now.
pub(crate) fn assign_agent(profile: AgentProfile, is_canary: bool) -> AgentAssignment {
    let AgentProfile { name: profile, revision, spec, .. } = profile;
    AgentAssignment { profile, revision, program: spec.program, hosts: spec.hosts, is_canary }
}

/// Waiting jobs of a user that some node may run.
#[derive(Debug, Default)]
pub(super) struct AssignableJobs {
    pub(super) jobs: Vec<Job>,
    /// Whether a job was closed because its agent profile was deleted.
    pub(super) has_closed: bool,
}

/// Lists at least `limit` waiting jobs of a user if there are so many, oldest first. Jobs that no active node could run are
/// left out, so that they do not hide those behind them: for example, a canary run that would admit them.
pub(super) async fn list_assignable(
    tx: &mut Tx,
    user: UserId,
    limit: u32,
    nodes: &[Node],
    admissions: &mut AgentAdmissions,
) -> Result<AssignableJobs, cynode_store::Error> {
    let (mut found, mut after, mut fetch) = (AssignableJobs::default(), None, limit);
    let mut pages = 0;
    loop {
        let page = tx.job_list_unassigned(user, after, fetch).await?;
        let is_last = page.len() < fetch as usize;
        after = page.last().map(|job| job.spec.id);
        for mut job in page {
            if !job.spec.payload["agent"].is_null() {
                if !admissions.is_loaded {
                    *admissions = AgentAdmissions::load(tx).await?;
                }
                if !refresh_agent(tx, &mut job, admissions).await? {
                    found.has_closed = true;
                    continue;
                }
            }
            if suitable_nodes(&job, nodes, admissions).next().is_some() {
                found.jobs.push(job);
            }
        }
        pages += 1;
        if is_last || found.jobs.len() >= limit as usize || pages == MAX_PAGES {
            return Ok(found);
        }
        fetch = BATCH;
    }
}

fn needs_admission(job: &Job) -> bool {
    let agent = &job.spec.payload["agent"];
    !agent.is_null() && !is_canary(agent)
}

fn is_canary(agent: &Value) -> bool {
    agent["is_canary"] == true
}

/// Gives a waiting job the current revision of its profile. Closes it and returns false if the profile was deleted.
async fn refresh_agent(
    tx: &mut Tx,
    job: &mut Job,
    admissions: &AgentAdmissions,
) -> Result<bool, cynode_store::Error> {
    let agent = &job.spec.payload["agent"];
    let name = agent["profile"].as_str().unwrap_or_default().to_owned();
    match admissions.revision(&name) {
        Some(current) if agent["revision"] == current => return Ok(true),
        Some(_) => {}
        None => return fail_without_profile(tx, job, &name).await.map(|()| false),
    }
    match tx.agent_profile_get(&name).await {
        Ok(Some(profile)) => {
            let is_canary = is_canary(&job.spec.payload["agent"]);
            let agent = assign_agent(profile, is_canary);
            let agent = match tx.task_get(job.spec.task).await? {
                Some(task) => narrow_agent(agent, &profile_of(tx, &task).await?),
                None => agent,
            };
            job.spec.payload["agent"] = json!(agent);
            tx.job_set_payload(job.spec.id, &job.spec.payload).await.map(|()| true)
        }
        Ok(None) => fail_without_profile(tx, job, &name).await.map(|()| false),
        // The job waits until the row is repaired, changed or deleted.
        Err(error) if error.is_unreadable() => Ok(true),
        Err(error) => Err(error),
    }
}

/// Closes a job whose profile was deleted. It has no node, and so no tokens to revoke.
async fn fail_without_profile(
    tx: &mut Tx,
    job: &Job,
    name: &str,
) -> Result<(), cynode_store::Error> {
    let reason = describe_deleted_profile(name);
    let ending = JobEnding::NotStarted { reason };
    let result = JobResult {
        ending: ending.clone(),
        stdout: String::new(),
        stderr: String::new(),
        truncated: Truncated::default(),
    };
    tx.run_end_suspension(job.spec.run).await?;
    close_job(tx, job, JobStatus::Failed, Some(&json!(result)), &ending).await.map(drop)
}

pub(crate) fn describe_deleted_profile(name: &str) -> String {
    format!(
        "the agent profile \"{name}\" was deleted: create a new task with another one; `cynork agent profiles` lists \
         them"
    )
}
