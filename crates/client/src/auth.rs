//! Signing in, tokens, users, status.

use cynode_domain::ids::TokenId;
use cynode_wire::auth::{
    CreateToken, CreateUser, Login, NewTokenView, RefreshToken, SessionView, TokenView, UserView,
};
use cynode_wire::health::StatusView;
use cynode_wire::page::{Page, PageQuery};
use reqwest::Method;

use crate::request::{read, send};
use crate::{Client, Error};

impl Client {
    /// `POST /v1/auth/login`
    pub async fn login(&self, body: &Login) -> Result<SessionView, Error> {
        self.post(&["v1", "auth", "login"], body).await
    }

    /// `POST /v1/auth/refresh`
    pub async fn refresh(&self, body: &RefreshToken) -> Result<SessionView, Error> {
        self.post(&["v1", "auth", "refresh"], body).await
    }

    /// `POST /v1/auth/logout`
    pub async fn logout(&self, body: &RefreshToken) -> Result<(), Error> {
        self.post_empty(&["v1", "auth", "logout"], body).await
    }

    /// `GET /v1/users/me`
    pub async fn whoami(&self) -> Result<UserView, Error> {
        self.get(&["v1", "users", "me"]).await
    }

    /// `POST /v1/users`
    pub async fn user_create(&self, body: &CreateUser) -> Result<UserView, Error> {
        self.post(&["v1", "users"], body).await
    }

    /// `POST /v1/tokens`
    pub async fn token_create(&self, body: &CreateToken) -> Result<NewTokenView, Error> {
        self.post(&["v1", "tokens"], body).await
    }

    /// `GET /v1/tokens`
    pub async fn token_list(&self, page: &PageQuery) -> Result<Page<TokenView>, Error> {
        read(send(self.request(Method::GET, &["v1", "tokens"]).query(page)).await?).await
    }

    /// `DELETE /v1/tokens/{token}`
    pub async fn token_revoke(&self, token: TokenId) -> Result<(), Error> {
        send(self.request(Method::DELETE, &["v1", "tokens", &token.to_string()])).await.map(drop)
    }

    /// `GET /v1/status`
    pub async fn status(&self) -> Result<StatusView, Error> {
        self.get(&["v1", "status"]).await
    }
}
