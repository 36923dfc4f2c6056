//! Mutates requests, deterministically by seed number.

use crate::request::FuzzRequest;

/// Fragments that parsers trip over.
const PIECES: &[&str] = &[
    "{",
    "}",
    "[",
    "]",
    "\"",
    ":",
    ",",
    "\\u0000",
    "\\ud800",
    "\\",
    "null",
    "true",
    "-0",
    "1e999",
    "18446744073709551616",
    "\u{feff}",
    "\0",
    "\r\n",
    "é",
    "\"id\":",
    "\"method\":\"tools/call\"",
    "\"name\":\"fz.off\",",
    "\"name\":\"fz.echo\",",
    "\"text\":5,",
    "\"arguments\":{},",
    "\"params\":null,",
    "\"jsonrpc\":\"1.0\",",
    "\"_meta\":{},",
    "../",
    "%2e%2e/",
    "*",
    "?x=1",
    "fz.off",
    "off",
    "echo",
    "Bearer ",
    "bearer",
    "cyn_pm_",
    "cyn_sb_",
    "{TOKEN}",
    "{SESSION}",
    "2026-07-28",
    "2025-11-25",
    "tools/list",
    "initialize",
    "subscriptions/listen",
    "=?base64?",
    "?=",
    "localhost",
];

const HEADERS: &[(&str, &str)] = &[
    ("authorization", "Bearer {TOKEN}"),
    ("authorization", "Bearer cyn_pm_wrong"),
    ("mcp-session-id", "{SESSION}"),
    ("mcp-protocol-version", "2026-07-28"),
    ("mcp-protocol-version", "2025-11-25"),
    ("mcp-method", "tools/call"),
    ("mcp-name", "echo"),
    ("content-type", "text/plain"),
    ("accept", "text/html"),
    ("origin", "http://evil.example"),
    ("host", "evil.example"),
    ("last-event-id", "1"),
];

const METHODS: &[&str] = &["POST", "GET", "DELETE", "PUT", "OPTIONS"];
const PATHS: &[&str] =
    &["/mcp", "/mcp/fz", "/mcp/none", "/mcp/", "/.well-known/oauth-protected-resource"];
/// Deep enough to overflow a recursive parser.
const DEPTH: usize = 20_000;
/// Long, but within every limit.
const LONGEST: usize = 64 * 1024;

/// A deterministic random number generator (`SplitMix64`).
pub(crate) struct Mutator(u64);

impl Mutator {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed)
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    fn below(&mut self, bound: usize) -> usize {
        let bound = u64::try_from(bound.max(1)).unwrap();
        usize::try_from(self.next() % bound).unwrap()
    }

    fn choose<'a, T>(&mut self, of: &'a [T]) -> &'a T {
        &of[self.below(of.len())]
    }

    /// A seed with one to four mutations.
    pub(crate) fn mutate(&mut self, seeds: &[FuzzRequest]) -> FuzzRequest {
        let mut request = self.choose(seeds).clone();
        for _ in 0..=self.below(4) {
            match self.below(12) {
                5 => {
                    // Half of one body, half of another.
                    let other = self.choose(seeds).body.clone();
                    let (cut, from) = (self.below(request.body.len()), self.below(other.len()));
                    request.body.truncate(cut);
                    request.body.extend(&other[from..]);
                }
                6 => self.mutate_header(&mut request),
                7 => {
                    let (name, value) = *self.choose(HEADERS);
                    request.headers.push((name.to_owned(), value.as_bytes().to_vec()));
                }
                8 if !request.headers.is_empty() => {
                    let index = self.below(request.headers.len());
                    request.headers.remove(index);
                }
                9 => request.method = (*self.choose(METHODS)).to_owned(),
                10 => request.path = (*self.choose(PATHS)).to_owned(),
                _ => self.mutate_bytes(&mut request.body),
            }
        }
        request.body.truncate(LONGEST);
        request
    }

    fn mutate_header(&mut self, request: &mut FuzzRequest) {
        if request.headers.is_empty() {
            return;
        }
        let index = self.below(request.headers.len());
        self.mutate_bytes(&mut request.headers[index].1);
    }

    fn mutate_bytes(&mut self, bytes: &mut Vec<u8>) {
        let at = self.below(bytes.len() + 1);
        let length = self.below(16).min(bytes.len() - at);
        match self.below(6) {
            0 if at < bytes.len() => bytes[at] ^= 1 << self.below(8),
            1 => drop(bytes.drain(at..at + length)),
            2 => {
                let again = bytes[at..at + length].to_vec();
                bytes.splice(at..at, again);
            }
            3 if self.below(20) == 0 => {
                let open = if self.below(2) == 0 { b"[" } else { b"{" };
                bytes.splice(at..at, open.repeat(DEPTH));
            }
            _ => {
                let chunk = *self.choose(PIECES);
                bytes.splice(at..at, chunk.bytes());
            }
        }
    }
}

#[test]
fn the_same_seed_makes_the_same_requests() {
    let seeds = [FuzzRequest::parse(b"POST /mcp\nhost: localhost\n\n{}\n")];
    let made = |seed| {
        let mut mutator = Mutator::new(seed);
        (0..50).map(|_| mutator.mutate(&seeds)).collect::<Vec<_>>()
    };

    assert_eq!(made(7), made(7));
    assert_ne!(made(7), made(8));
}
