//! Authenticated calls to the gateway; an expired session is renewed once.

use cynode_client::{Client, ClientError, McpClientError};
use cynode_domain::ids::TraceId;
use cynode_wire::auth::{RefreshToken, SessionView};
use cynode_wire::page::{MAX_LIMIT, Page, PageQuery};
use secrecy::SecretString;
use serde_json::Value;

use crate::config_file::{ConfigFile, StoredSession};
use crate::failure::CliFailure;
use crate::gateway_retry::GatewayRetry;
use crate::resolved_settings::{CallerIdentity, CliSettings, GatewayOrigin, is_same_gateway};

/// A gateway and the identity for calls to it.
pub struct ApiSession {
    client: Client,
    gateway_url: String,
    origin: GatewayOrigin,
    identity: CallerIdentity,
    config: ConfigFile,
}

impl ApiSession {
    /// Creates the client, whose requests belong to `trace`; sends nothing.
    pub fn open(settings: CliSettings, trace: TraceId) -> Result<Self, CliFailure> {
        let CliSettings { gateway_url, origin, identity, config, .. } = settings;
        let anonymous = Client::anonymous(&gateway_url)
            .map_err(|error| CliFailure::from_client_error(error, &gateway_url, origin))?;
        let anonymous = anonymous.with_trace(trace);
        let client = match &identity {
            CallerIdentity::Anonymous => anonymous,
            CallerIdentity::Token(token) => anonymous.with_token(token.clone()),
            CallerIdentity::Session(session) => with_access(anonymous, session),
        };
        Ok(Self { client, gateway_url, origin, identity, config })
    }

    pub fn gateway_url(&self) -> &str {
        &self.gateway_url
    }

    pub fn origin(&self) -> GatewayOrigin {
        self.origin
    }

    /// The session of `auth login`, if that is the identity.
    pub fn stored(&self) -> Option<&StoredSession> {
        match &self.identity {
            CallerIdentity::Session(session) => Some(session),
            CallerIdentity::Anonymous | CallerIdentity::Token(_) => None,
        }
    }

    pub fn config(&self) -> &ConfigFile {
        &self.config
    }

    /// Makes an authenticated call.
    pub async fn call<T>(
        &mut self,
        call: impl AsyncFn(&Client) -> Result<T, ClientError>,
    ) -> Result<T, CliFailure> {
        if matches!(self.identity, CallerIdentity::Anonymous) {
            return Err(CliFailure::SignedOut { url: self.gateway_url.clone() });
        }
        match call(&self.client).await {
            Err(error) if error.status() == Some(401) && self.stored().is_some() => {
                self.renew().await?;
                self.call_anonymous(call).await
            }
            answer => answer.map_err(|error| self.convert_error(error)),
        }
    }

    /// Loads every page of a list.
    pub async fn load_pages<T>(
        &mut self,
        list: impl AsyncFn(&Client, &PageQuery) -> Result<Page<T>, ClientError>,
    ) -> Result<Vec<T>, CliFailure> {
        let mut query = PageQuery { limit: Some(MAX_LIMIT), cursor: None };
        let mut items = vec![];
        loop {
            let page = self.call(async |client| list(client, &query).await).await?;
            items.extend(page.items);
            query.cursor = page.next_cursor;
            if query.cursor.is_none() {
                return Ok(items);
            }
        }
    }

    /// Makes a read-only call, and retries it while the gateway is unreachable.
    pub async fn read<T>(
        &mut self,
        call: impl AsyncFn(&Client) -> Result<T, ClientError>,
    ) -> Result<T, CliFailure> {
        let mut patience = GatewayRetry::default();
        loop {
            match self.call(&call).await {
                Err(failure) => patience.wait_or_fail(failure).await?,
                answer => return answer,
            }
        }
    }

    /// Makes a call that does not need an identity.
    pub async fn call_anonymous<T>(
        &self,
        call: impl AsyncFn(&Client) -> Result<T, ClientError>,
    ) -> Result<T, CliFailure> {
        call(&self.client).await.map_err(|error| self.convert_error(error))
    }

    /// Calls a tool of the gateway. An expired session is not renewed: make a [`Self::call`] first.
    pub async fn call_tool(&self, tool: &str, arguments: &Value) -> Result<Value, CliFailure> {
        let called = self.client.mcp_call(tool, arguments).await;
        let result = called.map_err(|error| match error {
            McpClientError::Unavailable(error) => self.convert_error(error),
            error @ (McpClientError::Refused { .. } | McpClientError::ToolFailed { .. }) => {
                CliFailure::Invalid(error.to_string())
            }
        })?;
        let missing = || CliFailure::Internal(format!("{tool} returned no structured result"));
        result.structured.ok_or_else(missing)
    }

    /// Exchanges the refresh token for a new session and stores it.
    ///
    /// A refresh token is valid once, so this holds the file lock; a session that another process has renewed
    /// in the meantime is used instead.
    pub async fn renew(&mut self) -> Result<(), CliFailure> {
        let ended = || CliFailure::SessionExpired { url: self.gateway_url.clone() };
        let old = self.stored().cloned().ok_or_else(ended)?;
        let lock = self.config.lock()?;
        let mut stored = self.config.load()?;
        let newest = stored.session.clone().filter(|session| {
            is_same_gateway(&session.gateway_url, &self.gateway_url)
                && session.access_token != old.access_token
        });
        let session = if let Some(session) = newest {
            session
        } else {
            let session = self.refresh_session(&old).await?;
            stored.session = Some(session.clone());
            self.config.save(&stored)?;
            session
        };
        drop(lock);
        self.client = with_access(self.client.clone(), &session);
        self.identity = CallerIdentity::Session(session);
        Ok(())
    }

    async fn refresh_session(&self, old: &StoredSession) -> Result<StoredSession, CliFailure> {
        let body = RefreshToken { refresh_token: old.refresh_token.clone() };
        match self.client.refresh(&body).await {
            Ok(view) => {
                let is_default_gateway = old.is_default_gateway;
                let session = stored_session(view, &self.gateway_url, &old.handle);
                Ok(StoredSession { is_default_gateway, ..session })
            }
            Err(error) if matches!(error.status(), Some(400..=403 | 409 | 422)) => {
                Err(CliFailure::SessionExpired { url: self.gateway_url.clone() })
            }
            Err(error) => Err(self.convert_error(error)),
        }
    }

    /// Converts a client error.
    pub fn convert_error(&self, error: ClientError) -> CliFailure {
        CliFailure::from_client_error(error, &self.gateway_url, self.origin)
    }
}

/// Converts a session to its stored form.
pub fn stored_session(view: SessionView, gateway_url: &str, handle: &str) -> StoredSession {
    StoredSession {
        gateway_url: gateway_url.to_owned(),
        handle: handle.to_owned(),
        access_token: view.access_token,
        refresh_token: view.refresh_token,
        is_default_gateway: false,
    }
}

fn with_access(client: Client, session: &StoredSession) -> Client {
    client.with_token(SecretString::from(session.access_token.as_str()))
}
