//! Which gateway, and as whom: flags, configuration file, environment and a local `cynode up`.
//!
//! The gateway: flag, then file, then `CYNORK_GATEWAY_URL`, then a local `up`, then the default. In the
//! file, the gateway that `auth login --gateway-url` signed in to comes first, until `auth logout`.
//! The token: `--token-file`, then `CYNORK_TOKEN`, then the file, then the local `up`'s admin.
//!
//! Invariant: what the file or a local `up` knows is presented to that gateway only.

use std::error::Error as _;
use std::fs;
use std::path::{Path, PathBuf};

use cynode_runtime::{config, secret_file};
use secrecy::SecretString;
use serde::Deserialize;

use crate::cli::{Format, Global};
use crate::failure::Failure;
use crate::stored::{ConfigFile, Stored, StoredSession};

const DEFAULT_GATEWAY: &str = "http://localhost:12080";

/// Reads one environment variable.
pub(crate) type Env<'a> = &'a dyn Fn(&str) -> Option<String>;

/// Everything a command needs to know before it speaks to a gateway.
pub(crate) struct Settings {
    /// Where the gateway listens.
    pub(crate) gateway_url: String,
    /// Which setting says so.
    pub(crate) origin: GatewayOrigin,
    /// As whom to speak.
    pub(crate) identity: Identity,
    /// How to print.
    pub(crate) format: Format,
    /// Where sessions are kept.
    pub(crate) config: ConfigFile,
    /// The local `cynode up`, if one has said that it is ready.
    pub(crate) local: Option<LocalUp>,
}

/// Which setting named the gateway.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum GatewayOrigin {
    /// `--gateway-url`.
    Flag,
    /// The gateway that `auth login --gateway-url` signed in to.
    SignIn,
    /// The configuration file.
    File,
    /// `CYNORK_GATEWAY_URL`.
    Environment,
    /// A local `cynode up`, which wrote down where it listens.
    LocalUp,
    /// None: where a `cynode up` listens unless it is told otherwise.
    Default,
}

impl GatewayOrigin {
    /// The setting in words, for a person who has to change it; `None` where no person set it.
    pub(crate) fn setting(self) -> Option<&'static str> {
        match self {
            Self::Flag => Some("--gateway-url"),
            Self::SignIn => Some("your last `cynork auth login --gateway-url`"),
            Self::File => Some("gateway_url in the configuration file"),
            Self::Environment => Some("CYNORK_GATEWAY_URL"),
            Self::LocalUp | Self::Default => None,
        }
    }
}

/// As whom to speak.
pub(crate) enum Identity {
    /// Nobody.
    Nobody,
    /// The owner of a token that cannot be renewed.
    Token(SecretString),
    /// Whoever signed in with `auth login`.
    Session(StoredSession),
}

/// What a local `cynode up` wrote down when it was ready.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct LocalUp {
    /// Where it listens.
    pub(crate) url: String,
    /// The file with its admin's token.
    pub(crate) admin_token_file: PathBuf,
}

impl Settings {
    /// Works out the settings from all layers.
    pub(crate) fn resolve(global: &Global, env: Env<'_>) -> Result<Self, Failure> {
        let env = |name: &str| env(name).filter(|value| !value.trim().is_empty());
        let config = ConfigFile::at(config_path(global, &env)?);
        let stored = config.load()?;
        let local = LocalUp::find(&config::data_dir(global.data_dir.clone()));
        let signed_in = stored.session.as_ref().filter(|session| session.is_default_gateway);
        let (gateway_url, origin) = [
            (global.gateway_url.clone(), GatewayOrigin::Flag),
            (signed_in.map(|session| session.gateway_url.clone()), GatewayOrigin::SignIn),
            (stored.gateway_url.clone(), GatewayOrigin::File),
            (env("CYNORK_GATEWAY_URL"), GatewayOrigin::Environment),
            (local.as_ref().map(|up| up.url.clone()), GatewayOrigin::LocalUp),
        ]
        .into_iter()
        .find_map(|(url, origin)| url.map(|url| (url, origin)))
        .unwrap_or_else(|| (DEFAULT_GATEWAY.to_owned(), GatewayOrigin::Default));
        let identity = match given_token(global, &env)? {
            Some(token) => Identity::Token(token),
            None => known_identity(&gateway_url, &stored, local.as_ref())?,
        };
        let format = global.output.or(stored.output).unwrap_or_default();
        Ok(Self { gateway_url, origin, identity, format, config, local })
    }
}

impl LocalUp {
    /// A file that cannot be read is treated as none: it may be mid-replacement or another user's.
    fn find(data_dir: &Path) -> Option<Self> {
        serde_json::from_slice(&fs::read(data_dir.join("up.json")).ok()?).ok()
    }
}

/// Whether two addresses name the same gateway.
pub(crate) fn is_same_gateway(one: &str, other: &str) -> bool {
    let plain = |url: &str| {
        url.trim().trim_end_matches('/').to_ascii_lowercase().replace("//localhost", "//127.0.0.1")
    };
    plain(one) == plain(other)
}

fn config_path(global: &Global, env: Env<'_>) -> Result<PathBuf, Failure> {
    if let Some(path) = &global.config {
        return Ok(path.clone());
    }
    let base = env("XDG_CONFIG_HOME")
        .map(PathBuf::from)
        .or_else(|| env("HOME").map(|home| PathBuf::from(home).join(".config")));
    match base {
        Some(base) => Ok(base.join("cynork/config.toml")),
        None => Err(Failure::Usage("HOME is not set; name a file with --config".to_owned())),
    }
}

fn given_token(global: &Global, env: Env<'_>) -> Result<Option<SecretString>, Failure> {
    match &global.token_file {
        Some(path) => read_token(path).map(Some),
        None => Ok(env("CYNORK_TOKEN").map(|token| SecretString::from(token.trim()))),
    }
}

fn known_identity(
    gateway_url: &str,
    stored: &Stored,
    local: Option<&LocalUp>,
) -> Result<Identity, Failure> {
    if let Some(session) = &stored.session
        && is_same_gateway(&session.gateway_url, gateway_url)
    {
        return Ok(Identity::Session(session.clone()));
    }
    if let Some(token) = &stored.token
        && stored.gateway_url.as_ref().is_none_or(|url| is_same_gateway(url, gateway_url))
    {
        return Ok(Identity::Token(SecretString::from(token.as_str())));
    }
    match local {
        Some(up) if is_same_gateway(&up.url, gateway_url) && up.admin_token_file.exists() => {
            read_token(&up.admin_token_file).map(Identity::Token)
        }
        Some(_) | None => Ok(Identity::Nobody),
    }
}

fn read_token(path: &Path) -> Result<SecretString, Failure> {
    secret_file::read(path).map_err(|error| {
        let cause = error.source().map(|cause| format!(": {cause}")).unwrap_or_default();
        Failure::Usage(format!("no token can be used: {error}{cause}"))
    })
}

#[cfg(test)]
mod tests {
    use secrecy::ExposeSecret as _;
    use tempfile::TempDir;

    use super::*;

    /// A home of its own, with a configuration file and a local `up` where a test wants them.
    struct Home {
        dir: TempDir,
        env: Vec<(&'static str, &'static str)>,
    }

    impl Home {
        fn new() -> Self {
            Self { dir: tempfile::tempdir().unwrap(), env: vec![] }
        }

        fn with_env(mut self, name: &'static str, value: &'static str) -> Self {
            self.env.push((name, value));
            self
        }

        fn with_config(self, text: &str) -> Self {
            let file = ConfigFile::at(self.dir.path().join("config.toml"));
            drop(file.lock().unwrap());
            file.save(&toml::from_str(text).unwrap()).unwrap();
            self
        }

        fn with_local_up(self, url: &str) -> Self {
            let token_file = self.dir.path().join("admin.token");
            secret_file::write_new(&token_file, &SecretString::from("cyn_local")).unwrap();
            let up = serde_json::json!({"url": url, "admin_token_file": token_file});
            fs::write(self.dir.path().join("up.json"), up.to_string()).unwrap();
            self
        }

        fn resolve(&self, flag: Option<&str>) -> Settings {
            let global = Global {
                config: Some(self.dir.path().join("config.toml")),
                data_dir: Some(self.dir.path().to_owned()),
                gateway_url: flag.map(ToOwned::to_owned),
                ..Global::default()
            };
            let env = |name: &str| {
                self.env.iter().find(|(key, _)| *key == name).map(|(_, value)| (*value).to_owned())
            };
            Settings::resolve(&global, &env).unwrap()
        }
    }

    fn token(settings: &Settings) -> &str {
        match &settings.identity {
            Identity::Nobody => "",
            Identity::Token(token) => token.expose_secret(),
            Identity::Session(session) => &session.access_token,
        }
    }

    const SESSION: &str = "[session]\ngateway_url = \"http://file:1\"\nhandle = \"ada\"\n\
                           access_token = \"cyn_access\"\nrefresh_token = \"cyn_refresh\"\n";

    #[test]
    fn the_gateway_is_taken_from_flag_then_file_then_environment_then_local_up() {
        let home = Home::new();
        assert_eq!(home.resolve(None).gateway_url, DEFAULT_GATEWAY);
        let home = home.with_local_up("http://up:1");
        assert_eq!(home.resolve(None).gateway_url, "http://up:1");
        let home = home.with_env("CYNORK_GATEWAY_URL", "http://env:1");
        assert_eq!(home.resolve(None).gateway_url, "http://env:1");
        let home = home.with_config("gateway_url = \"http://file:1\"");
        assert_eq!(home.resolve(None).gateway_url, "http://file:1");
        assert_eq!(home.resolve(Some("http://flag:1")).gateway_url, "http://flag:1");
    }

    #[test]
    fn the_gateway_that_a_sign_in_named_is_used_until_the_session_is_forgotten() {
        let remembered =
            format!("gateway_url = \"http://other:1\"\n{SESSION}is_default_gateway = true\n");
        let home = Home::new().with_local_up("http://up:1").with_config(&remembered);
        let settings = home.resolve(None);
        assert_eq!(settings.gateway_url, "http://file:1");
        assert_eq!((settings.origin, token(&settings)), (GatewayOrigin::SignIn, "cyn_access"));
        assert_eq!(home.resolve(Some("http://flag:1")).gateway_url, "http://flag:1");

        let forgotten = Home::new().with_config("gateway_url = \"http://other:1\"");
        assert_eq!(forgotten.resolve(None).gateway_url, "http://other:1");
    }

    #[test]
    fn a_token_in_the_environment_wins_over_a_stored_session() {
        let text = format!("gateway_url = \"http://file:1\"\n{SESSION}");
        let home = Home::new().with_config(&text);
        assert_eq!(token(&home.resolve(None)), "cyn_access");

        let home = home.with_env("CYNORK_TOKEN", "cyn_env");
        assert_eq!(token(&home.resolve(None)), "cyn_env");
    }

    #[test]
    fn a_session_is_never_presented_to_another_gateway() {
        let home = Home::new().with_config(SESSION).with_local_up("http://up:1");

        assert_eq!(token(&home.resolve(Some("http://stranger:1"))), "");
        assert_eq!(token(&home.resolve(Some("http://file:1/"))), "cyn_access");
        assert_eq!(token(&home.resolve(None)), "cyn_local");
    }

    #[test]
    fn localhost_and_its_number_are_the_same_gateway() {
        assert!(is_same_gateway("http://localhost:12080/", "http://127.0.0.1:12080"));
        assert!(!is_same_gateway("http://localhost:12080", "http://localhost:12081"));
    }
}
