//! The receivers of audit records.

use std::fmt;
use std::io::{Read as _, Seek as _, SeekFrom, Write as _};
use std::net::ToSocketAddrs as _;
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use anyhow::{Context as _, bail};
use cynode_resources::audit::ExportedRecord;
use serde_json::{Value, json};
use tokio::io::AsyncWriteExt as _;
use tokio::net::{TcpStream, UdpSocket, UnixDatagram};

const ALLOWED: &str = "file:/path, syslog:/dev/log, syslog:udp:host:514, syslog:tcp:host:601 or otlp:http://host:4318";
const TIMEOUT: Duration = Duration::from_secs(10);
/// Less than a datagram can hold, with room for the header.
const MAX_DATAGRAM: usize = 60_000;
/// RFC 5424: facility 13 (log audit), severity 6 (informational).
const PRIORITY: u32 = 13 * 8 + 6;

/// A receiver of audit records.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum StreamTarget {
    /// One JSON object per line is appended.
    File(PathBuf),
    /// RFC 5424 messages to a local socket.
    SyslogSocket(PathBuf),
    /// RFC 5424 messages, one per datagram (RFC 5426).
    SyslogUdp(String),
    /// RFC 5424 messages with their length (RFC 6587).
    SyslogTcp(String),
    /// OTLP over HTTP, in JSON, to the collector at this address.
    Otlp(String),
}

impl FromStr for StreamTarget {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let is_address = |text: &str| {
            text.rsplit_once(':')
                .is_some_and(|(host, port)| !host.is_empty() && port.parse::<u16>().is_ok())
        };
        let parsed = match text.split_once(':') {
            Some(("file", path)) if path.starts_with('/') => Self::File(path.into()),
            Some(("syslog", path)) if path.starts_with('/') => Self::SyslogSocket(path.into()),
            Some(("syslog", rest)) => match rest.split_once(':') {
                Some(("udp", address)) if is_address(address) => {
                    Self::SyslogUdp(address.to_owned())
                }
                Some(("tcp", address)) if is_address(address) => {
                    Self::SyslogTcp(address.to_owned())
                }
                _ => return Err(ALLOWED),
            },
            Some(("otlp", url)) if is_plain_url(url) => {
                Self::Otlp(url.trim_end_matches('/').to_owned())
            }
            _ => return Err(ALLOWED),
        };
        Ok(parsed)
    }
}

/// Without credentials, since targets are logged.
fn is_plain_url(url: &str) -> bool {
    let rest = url.strip_prefix("http://").or_else(|| url.strip_prefix("https://"));
    rest.is_some_and(|rest| !rest.is_empty() && !rest.contains('@'))
}

impl fmt::Display for StreamTarget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File(path) => write!(f, "file:{}", path.display()),
            Self::SyslogSocket(path) => write!(f, "syslog:{}", path.display()),
            Self::SyslogUdp(address) => write!(f, "syslog:udp:{address}"),
            Self::SyslogTcp(address) => write!(f, "syslog:tcp:{address}"),
            Self::Otlp(url) => write!(f, "otlp:{url}"),
        }
    }
}

impl StreamTarget {
    /// Sends records; an error means that none, some or all of them were received.
    pub(super) async fn send(&self, records: &[ExportedRecord]) -> anyhow::Result<()> {
        let sending = async {
            match self {
                Self::File(path) => append(path.clone(), to_lines(records)).await,
                Self::SyslogSocket(path) => {
                    let socket = UnixDatagram::unbound()?;
                    socket.connect(path)?;
                    for record in records {
                        socket.send(syslog_message(record).as_bytes()).await?;
                    }
                    Ok(())
                }
                Self::SyslogUdp(address) => {
                    let to =
                        address.to_socket_addrs()?.next().context("the host has no address")?;
                    let socket =
                        UdpSocket::bind(if to.is_ipv4() { "0.0.0.0:0" } else { "[::]:0" }).await?;
                    for record in records {
                        socket.send_to(syslog_message(record).as_bytes(), to).await?;
                    }
                    Ok(())
                }
                Self::SyslogTcp(address) => {
                    let mut stream = TcpStream::connect(address).await?;
                    for record in records {
                        let message = syslog_message(record);
                        stream.write_all(format!("{} {message}", message.len()).as_bytes()).await?;
                    }
                    Ok(stream.shutdown().await?)
                }
                Self::Otlp(url) => post(&format!("{url}/v1/logs"), &otlp_request(records)).await,
            }
        };
        tokio::time::timeout(TIMEOUT, sending).await.context("no reply within 10 s")?
    }
}

/// Appends and syncs. The file is opened each time, so it may be rotated.
async fn append(path: PathBuf, lines: Vec<u8>) -> anyhow::Result<()> {
    let written = tokio::task::spawn_blocking(move || {
        let mut options = std::fs::OpenOptions::new();
        std::os::unix::fs::OpenOptionsExt::mode(options.create(true).append(true), 0o600);
        let mut file = options.read(true).open(path)?;
        // A write that failed may have left a part of a line.
        if file.metadata()?.len() > 0 {
            let mut last = [0];
            file.seek(SeekFrom::End(-1))?;
            file.read_exact(&mut last)?;
            if last != *b"\n" {
                file.write_all(b"\n")?;
            }
        }
        file.write_all(&lines)?;
        file.sync_data()
    });
    Ok(written.await??)
}

async fn post(url: &str, body: &Value) -> anyhow::Result<()> {
    let response = reqwest::Client::new().post(url).json(body).send().await?;
    if !response.status().is_success() {
        bail!("the collector answered {}", response.status());
    }
    Ok(())
}

fn to_lines(records: &[ExportedRecord]) -> Vec<u8> {
    let lines = records.iter().map(|record| format!("{}\n", record.fields));
    lines.collect::<String>().into_bytes()
}

/// A record that does not fit into a datagram is sent without its content.
fn syslog_message(record: &ExportedRecord) -> String {
    let at = record.at.map_or("-".to_owned(), |at| at.format("%Y-%m-%dT%H:%M:%S%.6fZ").to_string());
    let (process, mut fields) = (std::process::id(), record.fields.to_string());
    if fields.len() > MAX_DATAGRAM {
        let mut short = record.fields.clone();
        short["record"] = json!({ "truncated": true });
        fields = short.to_string();
    }
    format!("<{PRIORITY}>1 {at} - cynode-orchestrator {process} audit - {fields}")
}

fn otlp_request(records: &[ExportedRecord]) -> Value {
    let records: Vec<Value> = records
        .iter()
        .map(|record| {
            let nanos = record.at.and_then(|at| at.timestamp_nanos_opt()).unwrap_or(0);
            json!({
                "timeUnixNano": nanos.to_string(),
                "severityNumber": 9,
                "severityText": "INFO",
                "body": { "stringValue": record.fields.to_string() },
                "attributes": [
                    { "key": "cynode.audit.chain", "value": { "stringValue": record.chain.to_string() } },
                    { "key": "cynode.audit.seq", "value": { "intValue": record.seq.to_string() } },
                ],
            })
        })
        .collect();
    json!({
        "resourceLogs": [{
            "resource": {
                "attributes": [{ "key": "service.name", "value": { "stringValue": "cynode-orchestrator" } }],
            },
            "scopeLogs": [{ "scope": { "name": "cynode.audit" }, "logRecords": records }],
        }],
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_target_is_the_same_after_it_was_written_and_others_are_rejected() {
        for text in [
            "file:/a/b",
            "syslog:/dev/log",
            "syslog:udp:h:514",
            "syslog:tcp:[::1]:601",
            "otlp:http://h:4318",
        ] {
            assert_eq!(text.parse::<StreamTarget>().unwrap().to_string(), text);
        }
        for text in [
            "",
            "file:a",
            "syslog:",
            "syslog:udp:h",
            "syslog:sctp:h:1",
            "otlp:h:4318",
            "otlp:http://user:password@h",
            "http://h",
        ] {
            assert_eq!(text.parse::<StreamTarget>(), Err(ALLOWED), "{text}");
        }
    }
}
