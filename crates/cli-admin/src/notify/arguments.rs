//! Arguments of `notify`.

use std::fs;
use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use cynode_domain::notice::{ChannelKind, NoticeKind};
use cynode_wire::notifications::{ChannelTarget, CreateChannel, SmtpSettings, SmtpTls};

use crate::creds::read_secret;
use cynode_cli::failure::CliFailure;

pub(super) const EXAMPLES: &str = "\
Examples:
  cynork notify channel add phone --kind webhook < url.txt
  cynork notify channel add team --kind slack --on approval,escalation < url.txt
  cynork notify channel add mail --kind email --to me@example.com";

/// Arguments of `notify channel add`.
#[derive(Debug, Args)]
pub struct ChannelAddArgs {
    /// The name.
    name: String,
    /// The kind: webhook, slack or email.
    #[arg(long)]
    kind: ChannelKind,
    /// With --kind email: the mail address.
    #[arg(long, value_name = "ADDRESS", required_if_eq("kind", "email"))]
    to: Option<String>,
    /// A file with the key of the webhook's signatures [default: a new key, printed once].
    #[arg(long, value_name = "FILE")]
    secret_file: Option<PathBuf>,
    /// What it delivers: question, approval, escalation, `tool_changed`, `budget_stop`, `request_ended` [default: all].
    #[arg(long = "on", value_name = "KINDS", value_delimiter = ',')]
    notices: Vec<NoticeKind>,
    /// Only events of this project, by slug or id.
    #[arg(long, visible_alias = "project-id")]
    project: Option<String>,
}

impl ChannelAddArgs {
    pub(super) fn request(self) -> Result<CreateChannel, CliFailure> {
        let target = match self.kind {
            ChannelKind::Webhook => {
                let secret = self.secret_file.as_deref().map(read_file).transpose()?;
                let secret = secret.map(cynode_wire::credentials::GivenSecret);
                ChannelTarget::Webhook { url: read_secret()?, secret }
            }
            ChannelKind::Slack => ChannelTarget::Slack { url: read_secret()? },
            ChannelKind::Email => ChannelTarget::Email { address: self.to.unwrap_or_default() },
        };
        Ok(CreateChannel { name: self.name, target, project: self.project, notices: self.notices })
    }
}

fn read_file(path: &Path) -> Result<String, CliFailure> {
    let text = fs::read_to_string(path).map_err(|error| {
        CliFailure::Usage(format!("{} cannot be read: {error}", path.display()))
    })?;
    Ok(text.trim().to_owned())
}

/// How the connection to the mail server is encrypted.
#[derive(Debug, Clone, Copy, ValueEnum)]
pub(super) enum TlsArg {
    /// Upgraded with STARTTLS.
    Starttls,
    /// TLS from the first byte.
    Tls,
    /// Not encrypted; only on this machine.
    None,
}

/// Arguments of `notify smtp set`.
#[derive(Debug, Args)]
pub struct SmtpSetArgs {
    /// The host.
    host: String,
    /// The port [default: 587, 465 with `--tls tls`, 25 with `--tls none`].
    #[arg(long)]
    port: Option<u16>,
    /// How the connection is encrypted.
    #[arg(long, value_enum, default_value = "starttls")]
    tls: TlsArg,
    /// The user name; its password is read from a prompt or standard input.
    #[arg(long, value_name = "USER")]
    username: Option<String>,
    /// Keep the current password.
    #[arg(long)]
    keep_password: bool,
    /// The sender, such as `CyNode <cynode@example.com>`.
    #[arg(long, value_name = "ADDRESS")]
    from: String,
    /// Send only to addresses of this domain; repeatable.
    #[arg(long = "allow-domain", value_name = "DOMAIN")]
    allowed_domains: Vec<String>,
    /// A certificate authority that is trusted too, in PEM.
    #[arg(long, value_name = "FILE")]
    ca: Option<PathBuf>,
}

impl SmtpSetArgs {
    pub(super) fn request(self) -> Result<SmtpSettings, CliFailure> {
        let needs_password = self.username.is_some() && !self.keep_password;
        Ok(SmtpSettings {
            password: needs_password.then(read_secret).transpose()?,
            host: self.host,
            port: self.port.unwrap_or(match self.tls {
                TlsArg::Starttls => 587,
                TlsArg::Tls => 465,
                TlsArg::None => 25,
            }),
            tls: match self.tls {
                TlsArg::Starttls => SmtpTls::Starttls,
                TlsArg::Tls => SmtpTls::Tls,
                TlsArg::None => SmtpTls::None,
            },
            username: self.username,
            from: self.from,
            allowed_domains: self.allowed_domains,
            ca_pem: self.ca.as_deref().map(read_file).transpose()?,
        })
    }
}
