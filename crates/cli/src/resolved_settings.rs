//! Resolves gateway and identity from flags, configuration file, environment and a local `cynode up`.
//!
//! Gateway: flag, then file, then `CYNORK_GATEWAY_URL`, then a local `up`, then the default. In the file, the
//! gateway of `auth login --gateway-url` comes first, until `auth logout`.
//! Token: `--token-file`, then `CYNORK_TOKEN`, then the file, then the admin token of the local `up`.
//!
//! Invariant: tokens from the file or a local `up` are sent only to the gateway they belong to.

use std::error::Error as _;
use std::fs;
use std::path::{Path, PathBuf};

use cynode_runtime::{config, secret_file};
use secrecy::SecretString;
use serde::Deserialize;

use crate::config_file::{ConfigContents, ConfigFile, StoredSession};
use crate::failure::CliFailure;
use crate::global_args::{Format, GlobalArgs};

const DEFAULT_GATEWAY: &str = "http://localhost:12080";

pub type EnvLookup<'a> = &'a dyn Fn(&str) -> Option<String>;

/// Resolved settings of one command.
pub struct CliSettings {
    pub gateway_url: String,
    pub origin: GatewayOrigin,
    pub identity: CallerIdentity,
    pub format: Format,
    pub config: ConfigFile,
    /// The local `cynode up`, if it is ready.
    pub local: Option<LocalInstance>,
}

/// The setting that named the gateway.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GatewayOrigin {
    /// `--gateway-url`.
    Flag,
    /// The gateway of `auth login --gateway-url`.
    SignIn,
    /// The configuration file.
    File,
    /// `CYNORK_GATEWAY_URL`.
    Environment,
    /// A local `cynode up`, from its `up.json`.
    LocalUp,
    /// The default address of `cynode up`.
    Default,
}

impl GatewayOrigin {
    /// The setting for messages; `None` if the user did not set one.
    pub fn setting_name(self) -> Option<&'static str> {
        match self {
            Self::Flag => Some("--gateway-url"),
            Self::SignIn => Some("your last `cynork auth login --gateway-url`"),
            Self::File => Some("gateway_url in the configuration file"),
            Self::Environment => Some("CYNORK_GATEWAY_URL"),
            Self::LocalUp | Self::Default => None,
        }
    }
}

/// Identity for calls.
pub enum CallerIdentity {
    Anonymous,
    /// A token that cannot be renewed.
    Token(SecretString),
    /// A session of `auth login`.
    Session(StoredSession),
}

/// Contents of the `up.json` that `cynode up` writes when it is ready.
#[derive(Debug, Clone, Deserialize)]
pub struct LocalInstance {
    pub url: String,
    pub admin_token_file: PathBuf,
}

impl CliSettings {
    /// Resolves all layers.
    pub fn resolve(global: &GlobalArgs, env: EnvLookup<'_>) -> Result<Self, CliFailure> {
        let env = |name: &str| env(name).filter(|value| !value.trim().is_empty());
        let config = ConfigFile::new(config_path(global, &env)?);
        let stored = config.load()?;
        let local = LocalInstance::find(&config::data_dir(global.data_dir.clone()));
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
        let identity = match explicit_token(global, &env)? {
            Some(token) => CallerIdentity::Token(token),
            None => stored_identity(&gateway_url, &stored, local.as_ref())?,
        };
        let format = global.output.or(stored.output).unwrap_or_default();
        Ok(Self { gateway_url, origin, identity, format, config, local })
    }
}

impl LocalInstance {
    /// Treats an unreadable file as absent: it may be half replaced, or belong to another user.
    fn find(data_dir: &Path) -> Option<Self> {
        serde_json::from_slice(&fs::read(data_dir.join("up.json")).ok()?).ok()
    }
}

/// Whether two URLs name the same gateway.
pub fn is_same_gateway(one: &str, other: &str) -> bool {
    let plain = |url: &str| {
        url.trim().trim_end_matches('/').to_ascii_lowercase().replace("//localhost", "//127.0.0.1")
    };
    plain(one) == plain(other)
}

fn config_path(global: &GlobalArgs, env: EnvLookup<'_>) -> Result<PathBuf, CliFailure> {
    if let Some(path) = &global.config {
        return Ok(path.clone());
    }
    let base = env("XDG_CONFIG_HOME")
        .map(PathBuf::from)
        .or_else(|| env("HOME").map(|home| PathBuf::from(home).join(".config")));
    match base {
        Some(base) => Ok(base.join("cynork/config.toml")),
        None => Err(CliFailure::Usage("HOME is not set; give a file with --config".to_owned())),
    }
}

fn explicit_token(
    global: &GlobalArgs,
    env: EnvLookup<'_>,
) -> Result<Option<SecretString>, CliFailure> {
    match &global.token_file {
        Some(path) => read_token(path).map(Some),
        None => Ok(env("CYNORK_TOKEN").map(|token| SecretString::from(token.trim()))),
    }
}

fn stored_identity(
    gateway_url: &str,
    stored: &ConfigContents,
    local: Option<&LocalInstance>,
) -> Result<CallerIdentity, CliFailure> {
    if let Some(session) = &stored.session
        && is_same_gateway(&session.gateway_url, gateway_url)
    {
        return Ok(CallerIdentity::Session(session.clone()));
    }
    if let Some(token) = &stored.token
        && stored.gateway_url.as_ref().is_none_or(|url| is_same_gateway(url, gateway_url))
    {
        return Ok(CallerIdentity::Token(SecretString::from(token.as_str())));
    }
    match local {
        Some(up) if is_same_gateway(&up.url, gateway_url) && up.admin_token_file.exists() => {
            read_token(&up.admin_token_file).map(CallerIdentity::Token)
        }
        Some(_) | None => Ok(CallerIdentity::Anonymous),
    }
}

fn read_token(path: &Path) -> Result<SecretString, CliFailure> {
    secret_file::read(path).map_err(|error| {
        let cause = error.source().map(|cause| format!(": {cause}")).unwrap_or_default();
        CliFailure::Usage(format!("cannot use the token: {error}{cause}"))
    })
}

#[cfg(test)]
mod tests {
    use secrecy::ExposeSecret as _;
    use tempfile::TempDir;

    use super::*;

    /// A temporary home with an optional configuration file and local `up`.
    struct TestHome {
        dir: TempDir,
        env: Vec<(&'static str, &'static str)>,
    }

    impl TestHome {
        fn new() -> Self {
            Self { dir: tempfile::tempdir().unwrap(), env: vec![] }
        }

        fn with_env(mut self, name: &'static str, value: &'static str) -> Self {
            self.env.push((name, value));
            self
        }

        fn with_config(self, text: &str) -> Self {
            let file = ConfigFile::new(self.dir.path().join("config.toml"));
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

        fn resolve(&self, flag: Option<&str>) -> CliSettings {
            let global = GlobalArgs {
                config: Some(self.dir.path().join("config.toml")),
                data_dir: Some(self.dir.path().to_owned()),
                gateway_url: flag.map(ToOwned::to_owned),
                ..GlobalArgs::default()
            };
            let env = |name: &str| {
                self.env.iter().find(|(key, _)| *key == name).map(|(_, value)| (*value).to_owned())
            };
            CliSettings::resolve(&global, &env).unwrap()
        }
    }

    fn token(settings: &CliSettings) -> &str {
        match &settings.identity {
            CallerIdentity::Anonymous => "",
            CallerIdentity::Token(token) => token.expose_secret(),
            CallerIdentity::Session(session) => &session.access_token,
        }
    }

    const SESSION: &str = "[session]\ngateway_url = \"http://file:1\"\nhandle = \"ada\"\n\
                           access_token = \"cyn_access\"\nrefresh_token = \"cyn_refresh\"\n";

    #[test]
    fn the_gateway_is_taken_from_flag_then_file_then_environment_then_local_up() {
        let home = TestHome::new();
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
        let home = TestHome::new().with_local_up("http://up:1").with_config(&remembered);
        let settings = home.resolve(None);
        assert_eq!(settings.gateway_url, "http://file:1");
        assert_eq!((settings.origin, token(&settings)), (GatewayOrigin::SignIn, "cyn_access"));
        assert_eq!(home.resolve(Some("http://flag:1")).gateway_url, "http://flag:1");

        let forgotten = TestHome::new().with_config("gateway_url = \"http://other:1\"");
        assert_eq!(forgotten.resolve(None).gateway_url, "http://other:1");
    }

    #[test]
    fn a_token_in_the_environment_wins_over_a_stored_session() {
        let text = format!("gateway_url = \"http://file:1\"\n{SESSION}");
        let home = TestHome::new().with_config(&text);
        assert_eq!(token(&home.resolve(None)), "cyn_access");

        let home = home.with_env("CYNORK_TOKEN", "cyn_env");
        assert_eq!(token(&home.resolve(None)), "cyn_env");
    }

    #[test]
    fn a_session_is_never_presented_to_another_gateway() {
        let home = TestHome::new().with_config(SESSION).with_local_up("http://up:1");

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
