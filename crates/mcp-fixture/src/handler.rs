//! What the server offers, as `rmcp` dispatches it.
//!
//! `rmcp` creates one [`FixtureHandler`] for each session, and one for each request of the stateless era.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CompleteRequestParams, CompleteResult,
    GetPromptRequestParams, GetPromptResponse, Implementation, ListPromptsResult,
    ListResourceTemplatesResult, ListResourcesResult, ListToolsResult, LoggingLevel,
    PaginatedRequestParams, ReadResourceRequestParams, ReadResourceResponse, ServerCapabilities,
    ServerConfig, ServerNotification, SetLevelRequestParams, SubscribeRequestParams,
    SubscriptionFilter, Tool, UnsubscribeRequestParams,
};
use rmcp::service::{
    NotificationContext, RequestContext, SubscriptionContext, SubscriptionSendError,
};
use rmcp::{ErrorData, RoleServer, ServerHandler};
use tokio::sync::broadcast::error::RecvError;

use crate::exchange::FixtureExchange;
use crate::fixture::McpFixture;
use crate::{prompts, resources, tools};

/// The server as one client sees it.
#[derive(Debug)]
pub(crate) struct FixtureHandler {
    fixture: Arc<McpFixture>,
    /// Minimum level of log messages in a session.
    level: Mutex<LoggingLevel>,
    /// Subscribed resource URIs of a session.
    subscriptions: Mutex<HashSet<String>>,
}

impl FixtureHandler {
    pub(crate) fn new(fixture: Arc<McpFixture>) -> Self {
        Self { fixture, level: Mutex::new(LoggingLevel::Debug), subscriptions: Mutex::default() }
    }

    fn is_subscribed(&self, change: &ServerNotification) -> bool {
        let ServerNotification::ResourceUpdatedNotification(update) = change else {
            return true;
        };
        lock(&self.subscriptions).contains(&update.params.uri)
    }
}

impl ServerHandler for FixtureHandler {
    fn get_info(&self) -> ServerConfig {
        let capabilities = ServerCapabilities::builder()
            .enable_logging()
            .enable_completions()
            .enable_prompts()
            .enable_prompts_list_changed()
            .enable_resources()
            .enable_resources_list_changed()
            .enable_resources_subscribe()
            .enable_tools()
            .enable_tool_list_changed()
            .build();
        ServerConfig::new(capabilities)
            .with_server_info(Implementation::new("cynode-mcp-fixture", env!("CARGO_PKG_VERSION")))
            .with_instructions("A server for tests.")
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        Ok(ListToolsResult::with_all_items(tools::list_tools(&self.fixture)))
    }

    /// `rmcp` compares headers with the arguments that the tool's schema marks.
    fn get_tool(&self, name: &str) -> Option<Tool> {
        tools::list_tools(&self.fixture).into_iter().find(|tool| tool.name == name)
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let level = *lock(&self.level);
        let exchange = FixtureExchange::from_tool_call(&self.fixture, &context, &request, level);
        tokio::select! {
            outcome = tools::call_tool(&exchange, &request.name) => outcome,
            () = context.ct.cancelled() => {
                self.fixture.count_cancelled();
                Err(ErrorData::internal_error("the client cancelled the call", None))
            }
        }
    }

    async fn list_resources(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        Ok(ListResourcesResult::with_all_items(resources::list_resources()))
    }

    async fn list_resource_templates(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        Ok(ListResourceTemplatesResult::with_all_items(resources::list_templates()))
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        resources::read_resource(&request.uri).map(ReadResourceResponse::Complete)
    }

    async fn subscribe(
        &self,
        request: SubscribeRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        lock(&self.subscriptions).insert(request.uri);
        Ok(())
    }

    async fn unsubscribe(
        &self,
        request: UnsubscribeRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        lock(&self.subscriptions).remove(&request.uri);
        Ok(())
    }

    async fn list_prompts(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListPromptsResult, ErrorData> {
        Ok(ListPromptsResult::with_all_items(prompts::list_prompts(&self.fixture)))
    }

    async fn get_prompt(
        &self,
        request: GetPromptRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<GetPromptResponse, ErrorData> {
        let exchange = FixtureExchange::from_prompt(&self.fixture, &context, &request);
        prompts::get_prompt(&exchange, &request.name).await
    }

    async fn complete(
        &self,
        request: CompleteRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<CompleteResult, ErrorData> {
        prompts::complete_argument(&request.argument.value)
    }

    async fn set_level(
        &self,
        request: SetLevelRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        *lock(&self.level) = request.level;
        Ok(())
    }

    /// Notifies the client of a session of changes, until the first change after the session ended.
    async fn on_initialized(&self, context: NotificationContext<RoleServer>) {
        let mut changes = self.fixture.changes.subscribe();
        loop {
            match changes.recv().await {
                Ok(change) if self.is_subscribed(&change) => {
                    if context.peer.send_notification(change).await.is_err() {
                        return;
                    }
                }
                Ok(_) | Err(RecvError::Lagged(_)) => {}
                Err(RecvError::Closed) => return,
            }
        }
    }

    fn accepted_subscription_filter(
        &self,
        requested: &SubscriptionFilter,
    ) -> Option<SubscriptionFilter> {
        Some(requested.clone())
    }

    /// Notifies a stateless client of changes until it disconnects.
    async fn listen(&self, context: SubscriptionContext) -> Result<(), ErrorData> {
        let mut changes = self.fixture.changes.subscribe();
        loop {
            let change = tokio::select! {
                change = changes.recv() => change,
                () = context.cancelled() => return Ok(()),
            };
            match change {
                Ok(change) => match context.sink().send(change).await {
                    Ok(()) | Err(SubscriptionSendError::NotificationNotAccepted(_)) => {}
                    Err(_) => return Ok(()),
                },
                Err(RecvError::Lagged(_)) => {}
                Err(RecvError::Closed) => return Ok(()),
            }
        }
    }
}

/// Locks a mutex, ignoring poison: a panic cannot leave these values inconsistent.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
