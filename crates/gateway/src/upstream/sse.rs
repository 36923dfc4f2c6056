//! Reading a stream of server-sent events, piece by piece and within bounds.

/// One event of a stream.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Event {
    /// What it says.
    pub(super) data: String,
    /// Where to go on from after a break.
    pub(super) id: Option<String>,
    /// How long to wait before coming back, in milliseconds.
    pub(super) retry_ms: Option<u64>,
}

/// An event is larger than what is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct TooLarge;

/// Puts events together from the pieces in which they arrive.
#[derive(Debug)]
pub(super) struct Reader {
    /// A line of which the end has not arrived.
    line: Vec<u8>,
    event: Event,
    has_data: bool,
    /// The last line ended with a carriage return: a line feed that follows belongs to it.
    after_return: bool,
    limit: usize,
}

impl Reader {
    /// Reads events of at most `limit` bytes.
    pub(super) fn new(limit: usize) -> Self {
        Self { line: vec![], event: Event::default(), has_data: false, after_return: false, limit }
    }

    /// Takes a piece of the stream; the events that it completes go to `events`.
    pub(super) fn push(&mut self, piece: &[u8], events: &mut Vec<Event>) -> Result<(), TooLarge> {
        let mut rest = piece;
        if self.after_return && rest.first() == Some(&b'\n') {
            rest = &rest[1..];
        }
        self.after_return &= rest.is_empty();
        while let Some(end) = rest.iter().position(|byte| matches!(byte, b'\n' | b'\r')) {
            self.line.extend_from_slice(&rest[..end]);
            self.check()?;
            self.end_line(events);
            let is_return = rest[end] == b'\r';
            rest = &rest[end + 1..];
            match rest.first() {
                Some(b'\n') if is_return => rest = &rest[1..],
                None if is_return => self.after_return = true,
                _ => {}
            }
        }
        self.line.extend_from_slice(rest);
        self.check()
    }

    fn check(&self) -> Result<(), TooLarge> {
        // A few bytes more than the limit are the names of the fields.
        let size = self.line.len() + self.event.data.len();
        if size > self.limit.saturating_add(64) { Err(TooLarge) } else { Ok(()) }
    }

    fn end_line(&mut self, events: &mut Vec<Event>) {
        let line = std::mem::take(&mut self.line);
        if line.is_empty() {
            let event = std::mem::take(&mut self.event);
            if std::mem::take(&mut self.has_data) || event.id.is_some() || event.retry_ms.is_some()
            {
                events.push(event);
            }
            return;
        }
        let line = String::from_utf8_lossy(&line);
        let (field, value) = line.split_once(':').unwrap_or((&line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match field {
            "data" => {
                if std::mem::replace(&mut self.has_data, true) {
                    self.event.data.push('\n');
                }
                self.event.data.push_str(value);
            }
            "id" if !value.contains('\0') => self.event.id = Some(value.to_owned()),
            "retry" => self.event.retry_ms = value.parse().ok(),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(pieces: &[&[u8]]) -> Vec<Event> {
        let mut reader = Reader::new(1000);
        let mut events = vec![];
        for piece in pieces {
            reader.push(piece, &mut events).unwrap();
        }
        events
    }

    fn data(text: &str) -> Event {
        Event { data: text.to_owned(), ..Event::default() }
    }

    #[test]
    fn events_are_put_together_however_they_are_cut() {
        let stream =
            b": hello\r\n\r\nevent: message\r\ndata: {\"a\":\r\ndata: 1}\r\n\r\ndata:x\n\n";

        let whole = read(&[stream]);
        let bytes: Vec<&[u8]> = stream.chunks(1).collect();

        assert_eq!(whole, [data("{\"a\":\n1}"), data("x")]);
        assert_eq!(read(&bytes), whole);
    }

    #[test]
    fn an_event_may_say_only_where_to_go_on() {
        let events = read(&[b"id: 7\nretry: 250\ndata:\n\nid: 8\n\n"]);

        let first = Event { data: String::new(), id: Some("7".to_owned()), retry_ms: Some(250) };
        assert_eq!(events, [first, Event { id: Some("8".to_owned()), ..Event::default() }]);
    }

    #[test]
    fn an_event_without_end_is_given_up() {
        let mut reader = Reader::new(100);
        let mut events = vec![];

        let ending =
            (0..100).map(|_| reader.push(b"data: aaaaaaaaaa\n", &mut events)).find(Result::is_err);

        assert_eq!(ending, Some(Err(TooLarge)));
        assert_eq!(events, []);
    }
}
