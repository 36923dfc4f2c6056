//! A collector of spans: receives OTLP over HTTP and decodes its protocol buffers.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use axum::Router;
use axum::body::Bytes;
use axum::routing::post;
use cynode_runtime::tasks::BackgroundTasks;
use tokio::net::TcpListener;

/// Serves `/v1/traces` until the test ends. Clones share what it received.
#[derive(Clone, Default)]
pub(super) struct Collector {
    requests: Arc<Mutex<Vec<Bytes>>>,
}

impl Collector {
    /// Starts a collector; returns it with its address.
    pub(super) async fn start() -> (Self, String) {
        let (collector, listener) =
            (Self::default(), TcpListener::bind("127.0.0.1:0").await.unwrap());
        let address = format!("http://{}", listener.local_addr().unwrap());
        let received = collector.clone();
        let receive =
            move |body: Bytes| async move { received.requests.lock().unwrap().push(body) };
        let routes = Router::new().route("/v1/traces", post(receive));
        BackgroundTasks::new().spawn("collector", async move {
            axum::serve(listener, routes).await.unwrap();
        });
        (collector, address)
    }

    /// Everything received, as it was sent.
    pub(super) fn bytes(&self) -> Vec<u8> {
        self.requests.lock().unwrap().concat()
    }

    /// Every span received, by name.
    pub(super) fn spans(&self) -> BTreeMap<String, ReceivedSpan> {
        let requests = self.requests.lock().unwrap();
        let resources = requests.iter().flat_map(|body| Message::read(body).messages(1));
        let spans = resources.flat_map(|resource| {
            let service = attributes(&resource.messages(1)[0], 1)["service.name"].clone();
            resource.messages(2).into_iter().flat_map(move |of_scope| {
                let (scope, schema_url) = (&of_scope.messages(1)[0], of_scope.text(3));
                let scope = format!("{} {}", scope.text(1), scope.text(2));
                let service = service.clone();
                of_scope.messages(2).into_iter().map(move |span| {
                    let origin = [service.clone(), scope.clone(), schema_url.clone()];
                    ReceivedSpan::read(&span, origin)
                })
            })
        });
        spans.map(|span| (span.name.clone(), span)).collect()
    }
}

/// A span, with its ids in hex.
#[derive(Debug, Clone)]
pub(super) struct ReceivedSpan {
    pub(super) name: String,
    pub(super) trace: String,
    pub(super) id: String,
    /// Empty for a root.
    pub(super) parent: String,
    /// 1 internal, 2 server, 3 client.
    pub(super) kind: u64,
    pub(super) attributes: BTreeMap<String, String>,
    pub(super) events: Vec<String>,
    /// Traces of the spans that it links to.
    pub(super) links: Vec<String>,
    /// Whether its status is an error, and the message of that status.
    pub(super) status: (bool, String),
    /// Name of the service, name and version of the scope, and its schema.
    pub(super) origin: [String; 3],
}

impl ReceivedSpan {
    fn read(span: &Message, origin: [String; 3]) -> Self {
        let status = span.messages(15).pop().unwrap_or_default();
        Self {
            name: span.text(5),
            trace: span.hex(1),
            id: span.hex(2),
            parent: span.hex(4),
            kind: span.number(6),
            attributes: attributes(span, 9),
            events: span.messages(11).iter().map(|event| event.text(2)).collect(),
            links: span.messages(13).iter().map(|link| link.hex(1)).collect(),
            status: (status.number(3) == 2, status.text(2)),
            origin,
        }
    }

    /// An attribute, or empty.
    pub(super) fn attribute(&self, name: &str) -> &str {
        self.attributes.get(name).map_or("", String::as_str)
    }
}

/// The attributes in a field: key and value. A list is shown in brackets.
fn attributes(message: &Message, field: u64) -> BTreeMap<String, String> {
    let pairs = message.messages(field).into_iter();
    pairs.map(|pair| (pair.text(1), render_value(&pair.messages(2)[0]))).collect()
}

fn render_value(value: &Message) -> String {
    match value.fields.first() {
        Some((1, Field::Bytes(text))) => String::from_utf8(text.clone()).unwrap(),
        Some((5, Field::Bytes(list))) => {
            let values: Vec<String> =
                Message::read(list).messages(1).iter().map(render_value).collect();
            format!("[{}]", values.join(" "))
        }
        Some((_, Field::Number(number))) => number.to_string(),
        other => panic!("{other:?}"),
    }
}

/// A message of protocol buffers: numbers of fields and their values.
#[derive(Debug, Default)]
struct Message {
    fields: Vec<(u64, Field)>,
}

#[derive(Debug)]
enum Field {
    Number(u64),
    Bytes(Vec<u8>),
}

impl Message {
    fn read(mut bytes: &[u8]) -> Self {
        let mut fields = vec![];
        while !bytes.is_empty() {
            let tag = read_varint(&mut bytes);
            let value = match tag & 7 {
                0 => Field::Number(read_varint(&mut bytes)),
                1 => Field::Number(u64::from_le_bytes(take(&mut bytes, 8).try_into().unwrap())),
                2 => {
                    let length = read_varint(&mut bytes).try_into().unwrap();
                    Field::Bytes(take(&mut bytes, length).to_vec())
                }
                5 => {
                    let number = u32::from_le_bytes(take(&mut bytes, 4).try_into().unwrap());
                    Field::Number(number.into())
                }
                other => panic!("unknown wire type {other}"),
            };
            fields.push((tag >> 3, value));
        }
        Self { fields }
    }

    fn bytes(&self, field: u64) -> impl Iterator<Item = &[u8]> {
        self.fields.iter().filter_map(move |(number, value)| match value {
            Field::Bytes(bytes) if *number == field => Some(bytes.as_slice()),
            Field::Bytes(_) | Field::Number(_) => None,
        })
    }

    fn messages(&self, field: u64) -> Vec<Self> {
        self.bytes(field).map(Self::read).collect()
    }

    fn text(&self, field: u64) -> String {
        String::from_utf8(self.bytes(field).next().unwrap_or_default().to_vec()).unwrap()
    }

    fn hex(&self, field: u64) -> String {
        self.bytes(field).flatten().fold(String::new(), |hex, byte| format!("{hex}{byte:02x}"))
    }

    fn number(&self, field: u64) -> u64 {
        let found = self.fields.iter().find_map(|(number, value)| match value {
            Field::Number(value) if *number == field => Some(*value),
            Field::Bytes(_) | Field::Number(_) => None,
        });
        found.unwrap_or_default()
    }
}

fn read_varint(bytes: &mut &[u8]) -> u64 {
    let mut value = 0;
    for shift in (0..64).step_by(7) {
        let byte = take(bytes, 1)[0];
        value |= u64::from(byte & 0x7f) << shift;
        if byte < 0x80 {
            break;
        }
    }
    value
}

fn take<'a>(bytes: &mut &'a [u8], length: usize) -> &'a [u8] {
    let (taken, rest) = bytes.split_at(length);
    *bytes = rest;
    taken
}
