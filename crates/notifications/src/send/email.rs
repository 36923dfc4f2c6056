//! Plain-text mails over SMTP.

use std::fmt::Write as _;
use std::time::Duration;

use cynode_domain::ids::NoticeDeliveryId;
use cynode_domain::notice::NoticeMessage;
use cynode_wire::notifications::{SmtpSettings, SmtpTls};
use lettre::message::header::{ContentType, HeaderName, HeaderValue};
use lettre::message::{Mailbox, Message};
use lettre::transport::smtp::authentication::Credentials;
use lettre::transport::smtp::client::{Certificate, Tls, TlsParameters};
use lettre::{Address, AsyncSmtpTransport, AsyncTransport as _, Tokio1Executor};

use super::SendFailure;
use crate::mail_server::MailServer;
use crate::text::clean_line;

const MAX_SUBJECT_CHARS: usize = 150;

/// Sends a mail. Its `Message-ID` is made of the id of the delivery, so that a receiver recognises a repetition.
pub(crate) async fn send(
    server: &MailServer,
    to: &Address,
    id: NoticeDeliveryId,
    message: &NoticeMessage,
    timeout: Duration,
) -> Result<(), SendFailure> {
    let mail = compose(&server.from, to, id, message)?;
    let transport = connect(&server.settings, timeout)?;
    let sent = transport.send(mail).await;
    sent.map(drop).map_err(|error| {
        let status = error.status().map(|status| format!(" with status {status}"));
        let reason = if let Some(status) = status {
            format!("the mail server rejected the mail{status}")
        } else if error.is_timeout() {
            "the mail server did not answer in time".to_owned()
        } else if error.is_tls() {
            "the connection to the mail server cannot be encrypted".to_owned()
        } else {
            "the mail server cannot be reached, or closed the connection".to_owned()
        };
        SendFailure::new(reason)
    })
}

fn compose(
    from: &Mailbox,
    to: &Address,
    id: NoticeDeliveryId,
    message: &NoticeMessage,
) -> Result<Message, SendFailure> {
    let automatic = HeaderValue::new(
        HeaderName::new_from_ascii_str("Auto-Submitted"),
        "auto-generated".to_owned(),
    );
    let domain = from.email.domain();
    Message::builder()
        .from(from.clone())
        .to(Mailbox::new(None, to.clone()))
        .subject(clean_line(&format!("[CyNode] {}", message.title), MAX_SUBJECT_CHARS))
        .message_id(Some(format!("<{id}@{domain}>")))
        .raw_header(automatic)
        .header(ContentType::TEXT_PLAIN)
        .body(render(message))
        .map_err(|_| SendFailure::new("the mail cannot be composed"))
}

/// Texts of others are quoted.
fn render(message: &NoticeMessage) -> String {
    let mut text = format!("{}\n", message.title);
    let quoted = message.text.lines().map(ToOwned::to_owned);
    let quoted: Vec<String> =
        quoted.chain(message.details.iter().map(|line| format!("- {line}"))).collect();
    if !quoted.is_empty() {
        text.push('\n');
        for line in quoted {
            let _ = writeln!(text, "> {line}");
        }
    }
    if let Some(command) = &message.command {
        let _ = writeln!(text, "\n    {command}");
    }
    text
}

fn connect(
    settings: &SmtpSettings,
    timeout: Duration,
) -> Result<AsyncSmtpTransport<Tokio1Executor>, SendFailure> {
    let fault = |_| SendFailure::new("the certificates for the mail server cannot be loaded");
    let parameters = || {
        let mut builder = TlsParameters::builder(settings.host.clone());
        if let Some(pem) = &settings.ca_pem {
            let authority = Certificate::from_pem(pem.as_bytes()).map_err(fault)?;
            builder = builder.add_root_certificate(authority);
        }
        builder.build_rustls().map_err(fault)
    };
    let tls = match settings.tls {
        SmtpTls::Starttls => Tls::Required(parameters()?),
        SmtpTls::Tls => Tls::Wrapper(parameters()?),
        SmtpTls::None => Tls::None,
    };
    let mut builder = AsyncSmtpTransport::<Tokio1Executor>::builder_dangerous(&settings.host)
        .port(settings.port)
        .tls(tls)
        .timeout(Some(timeout));
    if let (Some(user), Some(password)) = (&settings.username, &settings.password) {
        builder = builder.credentials(Credentials::new(user.clone(), password.0.clone()));
    }
    Ok(builder.build())
}
