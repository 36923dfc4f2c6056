//! Sign-in, tokens, users, status.

use cynode_domain::ids::TokenId;
use cynode_wire::auth::{
    CreateToken, CreateUser, Login, NewTokenView, RefreshToken, SessionView, TokenView, UserView,
};
use cynode_wire::health::StatusView;
use cynode_wire::page::{Page, PageQuery};
use reqwest::Method;

use crate::request::{read_json, send};
use crate::{Client, ClientError};

impl Client {
    /// `POST /v1/auth/login`
    pub async fn login(&self, body: &Login) -> Result<SessionView, ClientError> {
        self.post(&["v1", "auth", "login"], body).await
    }

    /// `POST /v1/auth/refresh`
    pub async fn refresh(&self, body: &RefreshToken) -> Result<SessionView, ClientError> {
        self.post(&["v1", "auth", "refresh"], body).await
    }

    /// `POST /v1/auth/logout`
    pub async fn logout(&self, body: &RefreshToken) -> Result<(), ClientError> {
        self.post_empty(&["v1", "auth", "logout"], body).await
    }

    /// `GET /v1/users/me`
    pub async fn whoami(&self) -> Result<UserView, ClientError> {
        self.get(&["v1", "users", "me"]).await
    }

    /// `POST /v1/users`
    pub async fn user_create(&self, body: &CreateUser) -> Result<UserView, ClientError> {
        self.post(&["v1", "users"], body).await
    }

    /// `POST /v1/tokens`
    pub async fn token_create(&self, body: &CreateToken) -> Result<NewTokenView, ClientError> {
        self.post(&["v1", "tokens"], body).await
    }

    /// `GET /v1/tokens`
    pub async fn token_list(&self, page: &PageQuery) -> Result<Page<TokenView>, ClientError> {
        read_json(send(self.request(Method::GET, &["v1", "tokens"]).query(page)).await?).await
    }

    /// `DELETE /v1/tokens/{token}`
    pub async fn token_revoke(&self, token: TokenId) -> Result<(), ClientError> {
        send(self.request(Method::DELETE, &["v1", "tokens", &token.to_string()])).await.map(drop)
    }

    /// `GET /v1/status`
    pub async fn status(&self) -> Result<StatusView, ClientError> {
        self.get(&["v1", "status"]).await
    }
}
