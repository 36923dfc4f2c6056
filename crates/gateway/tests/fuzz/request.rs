//! A request as a file: the request line, headers, an empty line, the body.
//!
//! `{TOKEN}` and `{SESSION}` are placeholders for a valid token and an open session.

/// One request, valid or not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FuzzRequest {
    pub(crate) method: String,
    pub(crate) path: String,
    pub(crate) headers: Vec<(String, Vec<u8>)>,
    pub(crate) body: Vec<u8>,
}

impl FuzzRequest {
    /// Parses a file; skips lines that are not headers.
    pub(crate) fn parse(file: &[u8]) -> Self {
        let end = file.windows(2).position(|pair| pair == b"\n\n").unwrap_or(file.len());
        let (head, body) = file.split_at(end);
        let mut lines = head.split(|byte| *byte == b'\n');
        let line = String::from_utf8_lossy(lines.next().unwrap_or_default()).into_owned();
        let (method, path) = line.split_once(' ').unwrap_or(("POST", "/mcp"));
        let headers = lines.filter_map(|line| {
            let colon = line.iter().position(|byte| *byte == b':')?;
            let name = String::from_utf8_lossy(&line[..colon]).into_owned();
            Some((name, line[colon + 1..].trim_ascii().to_vec()))
        });
        let body = body.strip_prefix(b"\n\n").unwrap_or_default();
        Self {
            method: method.to_owned(),
            path: path.to_owned(),
            headers: headers.collect(),
            body: body.strip_suffix(b"\n").unwrap_or(body).to_vec(),
        }
    }

    /// Renders the request as a file.
    pub(crate) fn to_bytes(&self) -> Vec<u8> {
        let mut file = format!("{} {}\n", self.method, self.path).into_bytes();
        for (name, value) in &self.headers {
            file.extend([name.as_bytes(), b": ", value, b"\n"].concat());
        }
        file.push(b'\n');
        file.extend(&self.body);
        file.push(b'\n');
        file
    }

    /// The value of a header that occurs exactly once.
    pub(crate) fn unique_header(&self, name: &str) -> Option<&[u8]> {
        let mut values = self.headers.iter().filter(|(own, _)| own.eq_ignore_ascii_case(name));
        match (values.next(), values.next()) {
            (Some((_, value)), None) => Some(value),
            _ => None,
        }
    }
}

#[test]
fn a_request_survives_being_written_down() {
    let file = b"POST /mcp\nhost: localhost\naccept: */*\n\n{\"a\":1}\n";

    assert_eq!(FuzzRequest::parse(file).to_bytes(), file);
}
