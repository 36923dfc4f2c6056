//! A mail server that enforces the dialogue of SMTP, with STARTTLS and AUTH PLAIN.

use std::sync::{Arc, Mutex};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use cynode_runtime::tasks::BackgroundTasks;
use cynode_testkit::TestCertificate;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio::io::{AsyncBufReadExt as _, AsyncRead, AsyncWrite, AsyncWriteExt as _, BufStream};
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;

/// A mail as it arrived.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ReceivedMail {
    pub(crate) from: String,
    pub(crate) to: Vec<String>,
    /// Headers and body, with dots unstuffed.
    pub(crate) data: String,
    /// User name and password, if the client authenticated.
    pub(crate) login: Option<(String, String)>,
    pub(crate) is_encrypted: bool,
}

impl ReceivedMail {
    /// The values of a header, with folded lines joined.
    pub(crate) fn header(&self, name: &str) -> Vec<String> {
        let head = self.data.split("\r\n\r\n").next().unwrap_or_default();
        let head = head.replace("\r\n ", " ").replace("\r\n\t", " ");
        let value = |line: &str| {
            let (found, value) = line.split_once(':')?;
            found.eq_ignore_ascii_case(name).then(|| value.trim().to_owned())
        };
        head.split("\r\n").filter_map(value).collect()
    }
}

#[derive(Clone)]
pub(crate) struct SmtpServer {
    pub(crate) port: u16,
    mails: Arc<Mutex<Vec<ReceivedMail>>>,
    faults: Arc<Mutex<Vec<String>>>,
    pub(crate) authority: Option<String>,
    rejection: Arc<Mutex<Option<&'static str>>>,
}

#[derive(Clone)]
struct Dialogue {
    server: SmtpServer,
    acceptor: Option<TlsAcceptor>,
    login: Option<(String, String)>,
    is_encrypted: bool,
}

impl SmtpServer {
    /// A server without encryption.
    pub(crate) async fn plain() -> Self {
        Self::start(None).await
    }

    /// A server that accepts mail after STARTTLS only.
    pub(crate) async fn starttls() -> Self {
        Self::start(Some(TestCertificate::for_host("localhost").unwrap())).await
    }

    async fn start(certificate: Option<TestCertificate>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let server = Self {
            port: listener.local_addr().unwrap().port(),
            mails: Arc::default(),
            faults: Arc::default(),
            authority: certificate.as_ref().map(|one| one.authority.clone()),
            rejection: Arc::default(),
        };
        let acceptor = certificate.map(|one| {
            let chain = CertificateDer::pem_slice_iter(one.certificate.as_bytes());
            let chain = chain.collect::<Result<Vec<_>, _>>().unwrap();
            let key = PrivateKeyDer::from_pem_slice(one.key.as_bytes()).unwrap();
            let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
            let config = rustls::ServerConfig::builder_with_provider(provider)
                .with_safe_default_protocol_versions()
                .unwrap()
                .with_no_client_auth()
                .with_single_cert(chain, key)
                .unwrap();
            TlsAcceptor::from(Arc::new(config))
        });
        let (tasks, accepting) = (BackgroundTasks::new(), server.clone());
        tasks.clone().spawn("smtp", async move {
            loop {
                let (stream, _) = listener.accept().await.unwrap();
                let dialogue = Dialogue {
                    server: accepting.clone(),
                    acceptor: acceptor.clone(),
                    login: None,
                    is_encrypted: false,
                };
                tasks.spawn("smtp dialogue", dialogue.serve(stream));
            }
        });
        server
    }

    pub(crate) fn mails(&self) -> Vec<ReceivedMail> {
        assert_eq!(*self.faults.lock().unwrap(), Vec::<String>::new());
        self.mails.lock().unwrap().clone()
    }

    /// The reply to every mail from now on, instead of taking it.
    pub(crate) fn reject(&self, reply: Option<&'static str>) {
        *self.rejection.lock().unwrap() = reply;
    }
}

impl Dialogue {
    async fn serve(mut self, stream: tokio::net::TcpStream) {
        let mut stream = BufStream::new(stream);
        say(&mut stream, "220 localhost ready").await;
        if !self.talk(&mut stream).await {
            return;
        }
        let acceptor = self.acceptor.take().unwrap();
        let Ok(encrypted) = acceptor.accept(stream.into_inner()).await else { return };
        self.is_encrypted = true;
        self.talk(&mut BufStream::new(encrypted)).await;
    }

    /// Answers commands until the client quits; true if the connection is to be encrypted.
    async fn talk<S: AsyncRead + AsyncWrite + Unpin>(&mut self, stream: &mut BufStream<S>) -> bool {
        let (mut is_greeted, mut from, mut to) = (false, None, vec![]);
        while let Some(line) = self.line(stream).await {
            let (command, rest) = line.split_once(' ').unwrap_or((&line, ""));
            match command.to_ascii_uppercase().as_str() {
                "EHLO" => {
                    is_greeted = true;
                    let offer = match (&self.acceptor, self.is_encrypted) {
                        (Some(_), false) => "250-localhost\r\n250 STARTTLS",
                        _ => "250-localhost\r\n250 AUTH PLAIN",
                    };
                    say(stream, offer).await;
                }
                "STARTTLS" if is_greeted && self.acceptor.is_some() && !self.is_encrypted => {
                    say(stream, "220 go ahead").await;
                    return true;
                }
                "AUTH" if is_greeted => {
                    let token = rest.strip_prefix("PLAIN ").unwrap_or_default();
                    let decoded = STANDARD.decode(token).unwrap_or_default();
                    let parts: Vec<String> = String::from_utf8_lossy(&decoded)
                        .split('\0')
                        .map(ToOwned::to_owned)
                        .collect();
                    self.login = Some((parts[1].clone(), parts[2].clone()));
                    say(stream, "235 welcome").await;
                }
                "MAIL" if is_greeted && from.is_none() && self.may_send() => {
                    from = Some(address(rest));
                    say(stream, "250 ok").await;
                }
                "RCPT" if from.is_some() => {
                    to.push(address(rest));
                    say(stream, "250 ok").await;
                }
                "DATA" if !to.is_empty() => {
                    say(stream, "354 end with a dot").await;
                    let Some(data) = self.data(stream).await else { return false };
                    let rejection = *self.server.rejection.lock().unwrap();
                    if let Some(reply) = rejection {
                        say(stream, reply).await;
                        continue;
                    }
                    self.server.mails.lock().unwrap().push(ReceivedMail {
                        from: from.take().unwrap(),
                        to: std::mem::take(&mut to),
                        data,
                        login: self.login.clone(),
                        is_encrypted: self.is_encrypted,
                    });
                    say(stream, "250 taken").await;
                }
                "RSET" => {
                    (from, to) = (None, vec![]);
                    say(stream, "250 ok").await;
                }
                "QUIT" => {
                    say(stream, "221 bye").await;
                    return false;
                }
                _ => {
                    let fault = format!("unexpected {line:?}");
                    self.server.faults.lock().unwrap().push(fault);
                    say(stream, "503 bad sequence of commands").await;
                }
            }
        }
        false
    }

    /// A server with a certificate takes no mail in plain text.
    fn may_send(&self) -> bool {
        self.is_encrypted || self.server.authority.is_none()
    }

    async fn line<S: AsyncRead + AsyncWrite + Unpin>(
        &self,
        stream: &mut BufStream<S>,
    ) -> Option<String> {
        let mut line = String::new();
        if stream.read_line(&mut line).await.ok()? == 0 {
            return None;
        }
        if !line.ends_with("\r\n") {
            self.server.faults.lock().unwrap().push(format!("a bare line break: {line:?}"));
        }
        Some(line.trim_end_matches(['\r', '\n']).to_owned())
    }

    async fn data<S: AsyncRead + AsyncWrite + Unpin>(
        &self,
        stream: &mut BufStream<S>,
    ) -> Option<String> {
        let mut data = String::new();
        loop {
            let line = self.line(stream).await?;
            if line == "." {
                return Some(data);
            }
            data.push_str(line.strip_prefix('.').unwrap_or(&line));
            data.push_str("\r\n");
        }
    }
}

async fn say<S: AsyncRead + AsyncWrite + Unpin>(stream: &mut BufStream<S>, line: &str) {
    let _ = stream.write_all(format!("{line}\r\n").as_bytes()).await;
    let _ = stream.flush().await;
}

/// The address of `FROM:<a@b>`.
fn address(text: &str) -> String {
    let text = text.split_once('<').map_or(text, |(_, rest)| rest);
    text.split_once('>').map_or(text, |(address, _)| address).to_owned()
}
