//! The mail server, which an administrator configures for all users.

use cynode_resources::Caller;
use cynode_resources::sealed_values::{open_value, seal_value};
use cynode_resources::servers::SecretSealer;
use cynode_store::{SealedValue, Tx};
use cynode_wire::credentials::GivenSecret;
use cynode_wire::notifications::{SmtpSettings, SmtpTls, SmtpView};
use lettre::Address;
use lettre::message::Mailbox;
use lettre::transport::smtp::client::Certificate;
use secrecy::{ExposeSecret as _, SecretString};

use crate::{NotificationError, Notifications};

/// The name under which the settings are sealed.
const SEALED_NAME: &str = "smtp";
const MAX_HOST_BYTES: usize = 255;
const MAX_DOMAINS: usize = 100;

/// The validated settings of the mail server.
#[derive(Clone)]
pub(crate) struct MailServer {
    pub(crate) settings: SmtpSettings,
    pub(crate) from: Mailbox,
}

impl MailServer {
    /// Rejects an address of a domain that is not allowed.
    pub(crate) fn check_recipient(&self, address: &Address) -> Result<(), NotificationError> {
        let allowed = &self.settings.allowed_domains;
        let domain = address.domain();
        if allowed.is_empty() || allowed.iter().any(|one| one.eq_ignore_ascii_case(domain)) {
            return Ok(());
        }
        let fault = format!("mail is sent to these domains only: {}", allowed.join(", "));
        Err(NotificationError::invalid(fault))
    }
}

impl Notifications {
    /// Sets the mail server. Without a password the present one is kept, unless host or user name differ. Administrators only.
    pub async fn set_mail_server(
        &self,
        caller: &Caller,
        mut settings: SmtpSettings,
    ) -> Result<SmtpView, NotificationError> {
        require_admin(caller)?;
        settings.host = settings.host.trim().to_owned();
        if settings.password.is_none() && settings.username.is_some() {
            let old = self.load_mail_server().await?.map(|old| old.settings);
            let is_same =
                |old: &SmtpSettings| old.host == settings.host && old.username == settings.username;
            settings.password = old.filter(is_same).and_then(|old| old.password);
        }
        let server = validate(settings)?;
        let text = serde_json::to_string(&server.settings).unwrap_or_default();
        let sealed =
            seal_value(self.sealer.as_ref(), SEALED_NAME.to_owned(), &SecretString::from(text))
                .await?;
        self.store
            .write(move |tx| {
                Box::pin(
                    async move { Ok::<_, NotificationError>(tx.sealed_value_put(&sealed).await?) },
                )
            })
            .await?;
        Ok(view(server.settings))
    }

    /// Returns the mail server without its password. Administrators only.
    pub async fn get_mail_server(&self, caller: &Caller) -> Result<SmtpView, NotificationError> {
        require_admin(caller)?;
        let server = self.load_mail_server().await?.ok_or(NotificationError::NoMailServer)?;
        Ok(view(server.settings))
    }

    /// Removes the mail server; mail channels fail from then on. Administrators only.
    pub async fn remove_mail_server(&self, caller: &Caller) -> Result<(), NotificationError> {
        require_admin(caller)?;
        self.store
            .write(|tx| {
                Box::pin(async move {
                    Ok::<_, NotificationError>(tx.sealed_value_delete(SEALED_NAME).await?)
                })
            })
            .await
    }

    pub(crate) async fn load_mail_server(&self) -> Result<Option<MailServer>, NotificationError> {
        let stored = self.store.read(|tx| Box::pin(load_mail_server(tx))).await?;
        stored.map(|stored| open(self.sealer.as_ref(), &stored)).transpose()
    }
}

/// Loads the sealed settings.
pub(crate) async fn load_mail_server(
    tx: &mut Tx,
) -> Result<Option<SealedValue>, NotificationError> {
    Ok(tx.sealed_value_get(SEALED_NAME).await?)
}

/// Opens the sealed settings.
pub(crate) fn open(
    sealer: &dyn SecretSealer,
    stored: &SealedValue,
) -> Result<MailServer, NotificationError> {
    let opened = open_value(sealer, stored)?;
    let damaged = || NotificationError::invalid("mail server settings are damaged: set them again");
    validate(serde_json::from_str(opened.expose_secret()).map_err(|_| damaged())?)
}

fn validate(settings: SmtpSettings) -> Result<MailServer, NotificationError> {
    let mut faults = vec![];
    let is_host = |c: char| c.is_ascii_alphanumeric() || ".-:".contains(c);
    let length = settings.host.len();
    if !(1..=MAX_HOST_BYTES).contains(&length) || !settings.host.chars().all(is_host) {
        faults.push("the host must be a name or an address".to_owned());
    }
    if settings.port == 0 {
        faults.push("the port must be between 1 and 65535".to_owned());
    }
    if settings.tls == SmtpTls::None && !is_loopback(&settings.host) {
        faults.push("a connection without TLS is allowed to this machine only".to_owned());
    }
    if settings.username.is_some() != settings.password.is_some() {
        faults.push("a user name needs a password, and a password a user name".to_owned());
    }
    let is_domain = |domain: &String| !domain.is_empty() && domain.chars().all(is_host);
    if settings.allowed_domains.len() > MAX_DOMAINS
        || !settings.allowed_domains.iter().all(is_domain)
    {
        faults.push(format!("allowed_domains has at most {MAX_DOMAINS} names of domains"));
    }
    if let Some(pem) = &settings.ca_pem
        && !(pem.contains("-----BEGIN CERTIFICATE-----")
            && Certificate::from_pem(pem.as_bytes()).is_ok())
    {
        faults.push("ca_pem has no certificate".to_owned());
    }
    let from = settings.from.parse::<Mailbox>();
    let has_breaks = settings.from.chars().any(char::is_control);
    match from {
        Ok(from) if !has_breaks && faults.is_empty() => Ok(MailServer { settings, from }),
        Ok(_) if !has_breaks => Err(NotificationError::Invalid(faults)),
        _ => {
            faults.push("from must be a mail address".to_owned());
            Err(NotificationError::Invalid(faults))
        }
    }
}

fn is_loopback(host: &str) -> bool {
    host == "localhost"
        || host.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback())
}

fn require_admin(caller: &Caller) -> Result<(), NotificationError> {
    if caller.is_admin { Ok(()) } else { Err(NotificationError::NotAdmin) }
}

fn view(settings: SmtpSettings) -> SmtpView {
    SmtpView {
        host: settings.host,
        port: settings.port,
        tls: settings.tls,
        username: settings.username,
        has_password: settings.password.is_some_and(|GivenSecret(text)| !text.is_empty()),
        from: settings.from,
        allowed_domains: settings.allowed_domains,
    }
}
