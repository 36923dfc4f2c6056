//! Sign-in, tokens, users, status.

use cynode_domain::ids::TokenId;
use cynode_wire::auth::{
    ChangePassword, CreateToken, CreateUser, EndedCount, Login, NewTokenView, RefreshToken,
    SessionView, TokenView, UpdateUser, UserView,
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

    /// `GET /v1/users`
    pub async fn user_list(&self, page: &PageQuery) -> Result<Page<UserView>, ClientError> {
        read_json(send(self.request(Method::GET, &["v1", "users"]).query(page)).await?).await
    }

    /// `PATCH /v1/users/{user}`
    pub async fn user_update(
        &self,
        user: &str,
        body: &UpdateUser,
    ) -> Result<UserView, ClientError> {
        let request = self.request(Method::PATCH, &["v1", "users", user]).json(body);
        read_json(send(request).await?).await
    }

    /// `POST /v1/users/me/password`
    pub async fn password_change(&self, body: &ChangePassword) -> Result<(), ClientError> {
        self.post_empty(&["v1", "users", "me", "password"], body).await
    }

    /// `DELETE /v1/users/{user}/sessions`
    pub async fn sessions_end(&self, user: &str) -> Result<EndedCount, ClientError> {
        let path = ["v1", "users", user, "sessions"];
        read_json(send(self.request(Method::DELETE, &path)).await?).await
    }

    /// `DELETE /v1/users/{user}/tokens`
    pub async fn tokens_revoke_all(&self, user: &str) -> Result<EndedCount, ClientError> {
        let path = ["v1", "users", user, "tokens"];
        read_json(send(self.request(Method::DELETE, &path)).await?).await
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
