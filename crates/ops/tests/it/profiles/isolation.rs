//! No operation of people or agents on memory crosses profiles.

use std::collections::BTreeSet;
use std::sync::atomic::Ordering;

use cynode_domain::ids::{MemoryEntryId, ProfileId, ProjectId};
use cynode_resources::agents::AgentIdentity;
use cynode_resources::profile_access::ProfileAccess;
use cynode_testkit::{ProfileData, check_isolation};
use cynode_wire::page::PageQuery;
use serde_json::json;

use super::{Team, of_agent};
use crate::engines::on_each_engine;

on_each_engine! {
    no_operation_of_a_person_crosses_profiles,
    no_operation_of_an_agent_crosses_profiles,
}

/// The memory as people use it.
struct MemoryOfPeople<'a>(&'a Team);

/// The memory as agents use it, each with its own token.
struct MemoryOfAgents<'a>(&'a Team);

async fn search(team: &Team, access: ProfileAccess, query: &str) -> Vec<(String, f64)> {
    let found = team.memory.search(access, query, Some(50)).await.unwrap().items;
    found.into_iter().map(|item| (item.entry.id.to_string(), item.score)).collect()
}

async fn list(team: &Team, access: ProfileAccess) -> BTreeSet<String> {
    let page = PageQuery { limit: Some(200), cursor: None };
    let found = team.memory.list(access, None, &page).await.unwrap().items;
    found.into_iter().map(|entry| entry.id.to_string()).collect()
}

fn entry_id(id: &str) -> MemoryEntryId {
    id.parse().unwrap()
}

impl ProfileData for MemoryOfPeople<'_> {
    type Profile = (ProjectId, ProfileId);

    async fn create_profile(&self) -> Self::Profile {
        // Two profiles of one project are as far apart as those of two.
        let project = match self.0.numbers.load(Ordering::Relaxed) % 3 {
            0 => self.0.project(&self.0.world.bob).await,
            _ => self.0.projects.get(&self.0.world.bob, &"project-0".into()).await.unwrap().id,
        };
        (project, self.0.profile(&self.0.world.bob, project, json!({})).await.id)
    }

    async fn add(&self, (project, profile): &Self::Profile, text: &str) -> String {
        let access = self.0.person(*project, Some(*profile));
        self.0.remember(access, text).await.unwrap().id.to_string()
    }

    async fn search(&self, (project, profile): &Self::Profile, query: &str) -> Vec<(String, f64)> {
        search(self.0, self.0.person(*project, Some(*profile)), query).await
    }

    async fn list(&self, (project, profile): &Self::Profile) -> BTreeSet<String> {
        list(self.0, self.0.person(*project, Some(*profile))).await
    }

    async fn can_read(&self, (project, profile): &Self::Profile, id: &str) -> bool {
        let access = self.0.person(*project, Some(*profile));
        self.0.memory.get(access, entry_id(id)).await.is_ok()
    }

    async fn delete(&self, (project, profile): &Self::Profile, id: &str) -> bool {
        let access = self.0.person(*project, Some(*profile));
        self.0.memory.delete(access, entry_id(id)).await.is_ok()
    }
}

impl ProfileData for MemoryOfAgents<'_> {
    type Profile = AgentIdentity;

    async fn create_profile(&self) -> Self::Profile {
        let (project, profile) = MemoryOfPeople(self.0).create_profile().await;
        self.0.agent_on(&self.0.task(project, Some(profile)).await).await
    }

    async fn add(&self, agent: &Self::Profile, text: &str) -> String {
        self.0.remember(of_agent(agent), text).await.unwrap().id.to_string()
    }

    async fn search(&self, agent: &Self::Profile, query: &str) -> Vec<(String, f64)> {
        search(self.0, of_agent(agent), query).await
    }

    async fn list(&self, agent: &Self::Profile) -> BTreeSet<String> {
        list(self.0, of_agent(agent)).await
    }

    async fn can_read(&self, agent: &Self::Profile, id: &str) -> bool {
        self.0.memory.get(of_agent(agent), entry_id(id)).await.is_ok()
    }

    async fn delete(&self, agent: &Self::Profile, id: &str) -> bool {
        self.0.memory.delete(of_agent(agent), entry_id(id)).await.is_ok()
    }
}

async fn no_operation_of_a_person_crosses_profiles() {
    let team = Team::new().await;
    team.project(&team.world.bob).await;
    for seed in 0..4 {
        check_isolation(&MemoryOfPeople(&team), seed).await;
    }
}

async fn no_operation_of_an_agent_crosses_profiles() {
    let team = Team::new().await;
    team.project(&team.world.bob).await;
    for seed in 10..14 {
        check_isolation(&MemoryOfAgents(&team), seed).await;
    }
}
