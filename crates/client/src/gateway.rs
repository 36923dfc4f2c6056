//! Administration of the MCP gateway.

use cynode_domain::ids::{CallId, RuleId, TokenId};
use cynode_wire::agents::{AgentTokenView, IssueAgentToken, NewAgentTokenView};
use cynode_wire::audit::{AuditHeadView, AuditQuery, CallView, VerifyQuery, VerifyView};
use cynode_wire::page::{Page, PageQuery};
use cynode_wire::rules::{CreateRule, RuleView};
use cynode_wire::servers::{InstallServer, ServerView, UpdateServer};
use cynode_wire::settings::{SetSetting, SettingView};
use cynode_wire::tools::{
    ApproveTool, ExplainAccess, ExplainView, ToolDetailView, ToolView, UpdateTool,
};
use reqwest::Method;

use crate::request::{read_json, send};
use crate::{Client, ClientError};

/// Verification reads every audit record, which takes long on a large log.
const VERIFY_TIMEOUT: std::time::Duration = std::time::Duration::from_mins(5);

impl Client {
    /// `POST /v1/agent-tokens`
    pub async fn agent_token_issue(
        &self,
        body: &IssueAgentToken,
    ) -> Result<NewAgentTokenView, ClientError> {
        self.post(&["v1", "agent-tokens"], body).await
    }

    /// `GET /v1/agent-tokens`
    pub async fn agent_token_list(
        &self,
        page: &PageQuery,
    ) -> Result<Page<AgentTokenView>, ClientError> {
        read_json(send(self.request(Method::GET, &["v1", "agent-tokens"]).query(page)).await?).await
    }

    /// `DELETE /v1/agent-tokens/{token}`
    pub async fn agent_token_revoke(&self, token: TokenId) -> Result<(), ClientError> {
        let token = token.to_string();
        send(self.request(Method::DELETE, &["v1", "agent-tokens", &token])).await.map(drop)
    }

    /// `GET /v1/tools`
    pub async fn tool_list(&self) -> Result<Vec<ToolView>, ClientError> {
        self.get(&["v1", "tools"]).await
    }

    /// `GET /v1/tools/{tool}`
    pub async fn tool_get(&self, tool: &str) -> Result<ToolDetailView, ClientError> {
        self.get(&["v1", "tools", tool]).await
    }

    /// `PATCH /v1/tools/{tool}`
    pub async fn tool_update(
        &self,
        tool: &str,
        body: &UpdateTool,
    ) -> Result<ToolDetailView, ClientError> {
        let request = self.request(Method::PATCH, &["v1", "tools", tool]).json(body);
        read_json(send(request).await?).await
    }

    /// `POST /v1/tools/{tool}/approve`
    pub async fn tool_approve(
        &self,
        tool: &str,
        body: &ApproveTool,
    ) -> Result<ToolDetailView, ClientError> {
        self.post(&["v1", "tools", tool, "approve"], body).await
    }

    /// `POST /v1/access/explain`
    pub async fn access_explain(&self, body: &ExplainAccess) -> Result<ExplainView, ClientError> {
        self.post(&["v1", "access", "explain"], body).await
    }

    /// `POST /v1/servers`
    pub async fn server_install(&self, body: &InstallServer) -> Result<ServerView, ClientError> {
        self.post(&["v1", "servers"], body).await
    }

    /// `GET /v1/servers`
    pub async fn server_list(&self) -> Result<Vec<ServerView>, ClientError> {
        self.get(&["v1", "servers"]).await
    }

    /// `GET /v1/servers/{server}`
    pub async fn server_get(&self, server: &str) -> Result<ServerView, ClientError> {
        self.get(&["v1", "servers", server]).await
    }

    /// `PATCH /v1/servers/{server}`
    pub async fn server_update(
        &self,
        server: &str,
        body: &UpdateServer,
    ) -> Result<ServerView, ClientError> {
        let request = self.request(Method::PATCH, &["v1", "servers", server]).json(body);
        read_json(send(request).await?).await
    }

    /// `DELETE /v1/servers/{server}`
    pub async fn server_remove(&self, server: &str) -> Result<(), ClientError> {
        send(self.request(Method::DELETE, &["v1", "servers", server])).await.map(drop)
    }

    /// `POST /v1/rules`
    pub async fn rule_create(&self, body: &CreateRule) -> Result<RuleView, ClientError> {
        self.post(&["v1", "rules"], body).await
    }

    /// `GET /v1/rules`
    pub async fn rule_list(&self) -> Result<Vec<RuleView>, ClientError> {
        self.get(&["v1", "rules"]).await
    }

    /// `DELETE /v1/rules/{rule}`
    pub async fn rule_remove(&self, rule: RuleId) -> Result<(), ClientError> {
        send(self.request(Method::DELETE, &["v1", "rules", &rule.to_string()])).await.map(drop)
    }

    /// `GET /v1/settings`
    pub async fn setting_list(&self, page: &PageQuery) -> Result<Page<SettingView>, ClientError> {
        read_json(send(self.request(Method::GET, &["v1", "settings"]).query(page)).await?).await
    }

    /// `GET /v1/settings/{key}`
    pub async fn setting_get(&self, key: &str) -> Result<SettingView, ClientError> {
        self.get(&["v1", "settings", key]).await
    }

    /// `PUT /v1/settings/{key}`
    pub async fn setting_set(
        &self,
        key: &str,
        body: &SetSetting,
    ) -> Result<SettingView, ClientError> {
        let request = self.request(Method::PUT, &["v1", "settings", key]).json(body);
        read_json(send(request).await?).await
    }

    /// `DELETE /v1/settings/{key}`
    pub async fn setting_remove(&self, key: &str) -> Result<(), ClientError> {
        send(self.request(Method::DELETE, &["v1", "settings", key])).await.map(drop)
    }

    /// `GET /v1/audit/calls`
    pub async fn call_list(&self, query: &AuditQuery) -> Result<Page<CallView>, ClientError> {
        read_json(send(self.request(Method::GET, &["v1", "audit", "calls"]).query(query)).await?)
            .await
    }

    /// `GET /v1/audit/calls/{call}`
    pub async fn call_get(&self, call: CallId) -> Result<CallView, ClientError> {
        self.get(&["v1", "audit", "calls", &call.to_string()]).await
    }

    /// `GET /v1/audit/head`
    pub async fn audit_head(&self) -> Result<AuditHeadView, ClientError> {
        self.get(&["v1", "audit", "head"]).await
    }

    /// `GET /v1/audit/verify`
    pub async fn audit_verify(&self, query: &VerifyQuery) -> Result<VerifyView, ClientError> {
        let request = self.request(Method::GET, &["v1", "audit", "verify"]).query(query);
        read_json(send(request.timeout(VERIFY_TIMEOUT)).await?).await
    }
}
