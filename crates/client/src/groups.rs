//! Groups of users, and skills.

use cynode_domain::ids::SkillId;
use cynode_wire::groups::{CreateGroup, GroupView, MemberView};
use cynode_wire::page::{Page, PageQuery};
use cynode_wire::skills::{
    CreateSkill, ReleaseSkill, RollbackSkill, SkillContentView, SkillDiffQuery, SkillDiffView,
    SkillQuery, SkillVersionView, SkillView, UpdateSkill,
};
use reqwest::Method;

use crate::request::{read_json, send};
use crate::{Client, ClientError};

impl Client {
    /// `GET /v1/groups`
    pub async fn group_list(&self, page: &PageQuery) -> Result<Page<GroupView>, ClientError> {
        read_json(send(self.request(Method::GET, &["v1", "groups"]).query(page)).await?).await
    }

    /// `POST /v1/groups`
    pub async fn group_create(&self, body: &CreateGroup) -> Result<GroupView, ClientError> {
        self.post(&["v1", "groups"], body).await
    }

    /// `GET /v1/groups/{group}`
    pub async fn group_get(&self, group: &str) -> Result<GroupView, ClientError> {
        self.get(&["v1", "groups", group]).await
    }

    /// `DELETE /v1/groups/{group}`
    pub async fn group_remove(&self, group: &str) -> Result<(), ClientError> {
        send(self.request(Method::DELETE, &["v1", "groups", group])).await.map(drop)
    }

    /// `GET /v1/groups/{group}/members`
    pub async fn member_list(
        &self,
        group: &str,
        page: &PageQuery,
    ) -> Result<Page<MemberView>, ClientError> {
        let request = self.request(Method::GET, &["v1", "groups", group, "members"]);
        read_json(send(request.query(page)).await?).await
    }

    /// `PUT /v1/groups/{group}/members/{user}`
    pub async fn member_add(&self, group: &str, user: &str) -> Result<MemberView, ClientError> {
        let request = self.request(Method::PUT, &["v1", "groups", group, "members", user]);
        read_json(send(request).await?).await
    }

    /// `DELETE /v1/groups/{group}/members/{user}`
    pub async fn member_remove(&self, group: &str, user: &str) -> Result<(), ClientError> {
        let segments = ["v1", "groups", group, "members", user];
        send(self.request(Method::DELETE, &segments)).await.map(drop)
    }

    /// `GET /v1/skills`
    pub async fn skill_list(&self, query: &SkillQuery) -> Result<Page<SkillView>, ClientError> {
        read_json(send(self.request(Method::GET, &["v1", "skills"]).query(query)).await?).await
    }

    /// `POST /v1/skills/load`
    pub async fn skill_load(&self, body: &CreateSkill) -> Result<SkillView, ClientError> {
        self.post(&["v1", "skills", "load"], body).await
    }

    /// `GET /v1/skills/{skill}`
    pub async fn skill_get(&self, skill: SkillId) -> Result<SkillContentView, ClientError> {
        self.get(&["v1", "skills", &skill.to_string()]).await
    }

    /// `PUT /v1/skills/{skill}`
    pub async fn skill_update(
        &self,
        skill: SkillId,
        body: &UpdateSkill,
    ) -> Result<SkillView, ClientError> {
        let request = self.request(Method::PUT, &["v1", "skills", &skill.to_string()]).json(body);
        read_json(send(request).await?).await
    }

    /// `GET /v1/skills/{skill}/versions`
    pub async fn skill_history(
        &self,
        skill: SkillId,
        query: &PageQuery,
    ) -> Result<Page<SkillVersionView>, ClientError> {
        let path = ["v1", "skills", &skill.to_string(), "versions"];
        read_json(send(self.request(Method::GET, &path).query(query)).await?).await
    }

    /// `GET /v1/skills/{skill}/diff`
    pub async fn skill_diff(
        &self,
        skill: SkillId,
        query: &SkillDiffQuery,
    ) -> Result<SkillDiffView, ClientError> {
        let path = ["v1", "skills", &skill.to_string(), "diff"];
        read_json(send(self.request(Method::GET, &path).query(query)).await?).await
    }

    /// `POST /v1/skills/{skill}/rollback`
    pub async fn skill_rollback(
        &self,
        skill: SkillId,
        body: &RollbackSkill,
    ) -> Result<SkillView, ClientError> {
        self.post(&["v1", "skills", &skill.to_string(), "rollback"], body).await
    }

    /// `POST /v1/skills/{skill}/release`
    pub async fn skill_release(
        &self,
        skill: SkillId,
        body: &ReleaseSkill,
    ) -> Result<SkillView, ClientError> {
        self.post(&["v1", "skills", &skill.to_string(), "release"], body).await
    }

    /// `DELETE /v1/skills/{skill}`
    pub async fn skill_remove(&self, skill: SkillId) -> Result<(), ClientError> {
        send(self.request(Method::DELETE, &["v1", "skills", &skill.to_string()])).await.map(drop)
    }
}
