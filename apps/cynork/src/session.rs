//! Calls to the gateway under one identity; a session that has ended is renewed once.

use cynode_client::{Client, Error};
use cynode_wire::auth::{RefreshToken, SessionView};
use secrecy::SecretString;

use crate::failure::Failure;
use crate::patience::Patience;
use crate::settings::{GatewayOrigin, Identity, Settings, is_same_gateway};
use crate::stored::{ConfigFile, StoredSession};

/// A gateway and an identity to speak to it with.
pub(crate) struct Session {
    client: Client,
    gateway_url: String,
    origin: GatewayOrigin,
    identity: Identity,
    config: ConfigFile,
}

impl Session {
    /// Prepares to speak; nothing is sent yet.
    pub(crate) fn open(settings: Settings) -> Result<Self, Failure> {
        let Settings { gateway_url, origin, identity, config, .. } = settings;
        let anonymous = Client::anonymous(&gateway_url)
            .map_err(|error| Failure::of_call(error, &gateway_url, origin))?;
        let client = match &identity {
            Identity::Nobody => anonymous,
            Identity::Token(token) => anonymous.with_token(token.clone()),
            Identity::Session(session) => with_access(anonymous, session),
        };
        Ok(Self { client, gateway_url, origin, identity, config })
    }

    /// Where the gateway listens.
    pub(crate) fn gateway_url(&self) -> &str {
        &self.gateway_url
    }

    /// Which setting named the gateway.
    pub(crate) fn origin(&self) -> GatewayOrigin {
        self.origin
    }

    /// The session of `auth login`, if that is the identity.
    pub(crate) fn stored(&self) -> Option<&StoredSession> {
        match &self.identity {
            Identity::Session(session) => Some(session),
            Identity::Nobody | Identity::Token(_) => None,
        }
    }

    /// Where sessions are kept.
    pub(crate) fn config(&self) -> &ConfigFile {
        &self.config
    }

    /// Makes a call that needs an identity.
    pub(crate) async fn call<T>(
        &mut self,
        call: impl AsyncFn(&Client) -> Result<T, Error>,
    ) -> Result<T, Failure> {
        if matches!(self.identity, Identity::Nobody) {
            return Err(Failure::SignedOut { url: self.gateway_url.clone() });
        }
        match call(&self.client).await {
            Err(error) if error.status() == Some(401) && self.stored().is_some() => {
                self.renew().await?;
                self.call_anyway(call).await
            }
            answer => answer.map_err(|error| self.fault(error)),
        }
    }

    /// Makes a call that only reads, again and again while the gateway is away for a while.
    pub(crate) async fn read<T>(
        &mut self,
        call: impl AsyncFn(&Client) -> Result<T, Error>,
    ) -> Result<T, Failure> {
        let mut patience = Patience::default();
        loop {
            match self.call(&call).await {
                Err(failure) => patience.bear(failure).await?,
                answer => return answer,
            }
        }
    }

    /// Makes a call as whoever we are, nobody included.
    pub(crate) async fn call_anyway<T>(
        &self,
        call: impl AsyncFn(&Client) -> Result<T, Error>,
    ) -> Result<T, Failure> {
        call(&self.client).await.map_err(|error| self.fault(error))
    }

    /// Trades the refresh token for a new session and keeps it.
    ///
    /// A refresh token is good once, so this happens under the file's lock, and a session that
    /// another command has renewed in the meantime is taken over instead.
    pub(crate) async fn renew(&mut self) -> Result<(), Failure> {
        let ended = || Failure::SessionEnded { url: self.gateway_url.clone() };
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
            let session = self.trade(&old).await?;
            stored.session = Some(session.clone());
            self.config.save(&stored)?;
            session
        };
        drop(lock);
        self.client = with_access(self.client.clone(), &session);
        self.identity = Identity::Session(session);
        Ok(())
    }

    async fn trade(&self, old: &StoredSession) -> Result<StoredSession, Failure> {
        let body = RefreshToken { refresh_token: old.refresh_token.clone() };
        match self.client.refresh(&body).await {
            Ok(view) => {
                let is_default_gateway = old.is_default_gateway;
                let session = stored_session(view, &self.gateway_url, &old.handle);
                Ok(StoredSession { is_default_gateway, ..session })
            }
            Err(error) if matches!(error.status(), Some(400..=403 | 409 | 422)) => {
                Err(Failure::SessionEnded { url: self.gateway_url.clone() })
            }
            Err(error) => Err(self.fault(error)),
        }
    }

    /// What a call to this gateway came to.
    pub(crate) fn fault(&self, error: Error) -> Failure {
        Failure::of_call(error, &self.gateway_url, self.origin)
    }
}

/// What to keep of a new session.
pub(crate) fn stored_session(view: SessionView, gateway_url: &str, handle: &str) -> StoredSession {
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
