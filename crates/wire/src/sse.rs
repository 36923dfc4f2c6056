//! Incremental, bounded parser of server-sent events.
//!
//! This is the only parser of `text/event-stream` in the workspace. It buffers at most one event and never more than
//! its limit, so a server that sends an endless line or event cannot exhaust memory. Chunk boundaries do not affect the result. An event is returned at the blank line that ends it; the incomplete
//! event of a broken stream is returned only by [`Reader::rest`].

/// Some servers start a stream with it; it is not part of the first line.
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// One event of a stream.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Event {
    /// Event name, if given.
    pub name: Option<String>,
    /// Data, with lines separated by line feeds.
    pub data: String,
    /// Event id, to resume after.
    pub id: Option<String>,
    /// Reconnection delay, in milliseconds.
    pub retry_ms: Option<u64>,
}

/// An event exceeds the size limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TooLarge {
    /// The limit, in bytes.
    pub limit: usize,
}

impl std::fmt::Display for TooLarge {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "an event is larger than {} bytes", self.limit)
    }
}

impl std::error::Error for TooLarge {}

/// Incremental parser of server-sent events.
#[derive(Debug)]
pub struct Reader {
    /// The incomplete current line.
    line: Vec<u8>,
    event: Event,
    has_data: bool,
    /// The last line ended with a carriage return; a following line feed belongs to it.
    after_return: bool,
    limit: usize,
    /// Prefix that the first line may have; `None` after the first line.
    mark: Option<&'static [u8]>,
    /// Whether events with only an id or a retry delay are returned.
    is_following: bool,
}

impl Reader {
    /// Parses events of at most `limit` bytes.
    pub fn new(limit: usize) -> Self {
        Self {
            line: vec![],
            event: Event::default(),
            has_data: false,
            after_return: false,
            limit,
            mark: Some(BYTE_ORDER_MARK),
            is_following: false,
        }
    }

    /// As [`Reader::new`], for a caller that reconnects: also returns events with only an id or a retry delay.
    pub fn following(limit: usize) -> Self {
        Self { is_following: true, ..Self::new(limit) }
    }

    /// Adds a chunk; calls `found` for each completed event.
    pub fn push(&mut self, chunk: &[u8], mut found: impl FnMut(Event)) -> Result<(), TooLarge> {
        let mut rest = chunk;
        while let Some(first) = rest.first() {
            if std::mem::take(&mut self.after_return) && *first == b'\n' {
                rest = &rest[1..];
                continue;
            }
            let Some(end) = rest.iter().position(|byte| matches!(byte, b'\n' | b'\r')) else {
                return self.extend_line(rest);
            };
            self.extend_line(&rest[..end])?;
            self.after_return = rest[end] == b'\r';
            rest = &rest[end + 1..];
            if let Some(event) = self.end_line() {
                found(event);
            }
        }
        Ok(())
    }

    /// The incomplete event at the end of the stream, if any.
    pub fn rest(&mut self) -> Option<Event> {
        if !self.line.is_empty() {
            self.end_line();
        }
        self.end_line()
    }

    /// Appends to the current line, unless the event would exceed the limit.
    fn extend_line(&mut self, bytes: &[u8]) -> Result<(), TooLarge> {
        let size = self.line.len().saturating_add(self.event.data.len());
        if size.saturating_add(bytes.len()) > self.limit {
            return Err(TooLarge { limit: self.limit });
        }
        self.line.extend_from_slice(bytes);
        Ok(())
    }

    fn end_line(&mut self) -> Option<Event> {
        if let Some(mark) = self.mark.take()
            && self.line.starts_with(mark)
        {
            self.line.drain(..mark.len());
        }
        if self.line.is_empty() {
            let event = std::mem::take(&mut self.event);
            let is_place = self.is_following && (event.id.is_some() || event.retry_ms.is_some());
            return (std::mem::take(&mut self.has_data) || is_place).then_some(event);
        }
        let line = String::from_utf8_lossy(&self.line);
        let (field, value) = line.split_once(':').unwrap_or((&line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match field {
            "data" => {
                if std::mem::replace(&mut self.has_data, true) {
                    self.event.data.push('\n');
                }
                self.event.data.push_str(value);
            }
            "event" => self.event.name = Some(value.to_owned()),
            "id" if !value.contains('\0') => self.event.id = Some(value.to_owned()),
            "retry" if value.bytes().all(|byte| byte.is_ascii_digit()) => {
                self.event.retry_ms = value.parse().ok().or(self.event.retry_ms);
            }
            _ => {}
        }
        self.line.clear();
        None
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn read(chunks: impl IntoIterator<Item = impl AsRef<[u8]>>) -> Vec<Event> {
        let mut reader = Reader::new(1000);
        let mut events = vec![];
        for chunk in chunks {
            reader.push(chunk.as_ref(), |event| events.push(event)).unwrap();
        }
        events
    }

    fn data(text: &str) -> Event {
        Event { data: text.to_owned(), ..Event::default() }
    }

    #[test]
    fn lines_of_data_are_joined_and_comments_are_skipped() {
        let events = read([b": ping\r\n\r\nevent: x\rdata: {\"a\":\r\ndata:1}\r\r\ndata: y\n\n"]);

        let first = Event { name: Some("x".to_owned()), ..data("{\"a\":\n1}") };
        assert_eq!(events, [first, data("y")]);
    }

    #[test]
    fn an_event_that_was_not_ended_is_not_given_out() {
        assert_eq!(read([b"data: whole\n\ndata: begun\n"]), [data("whole")]);
    }

    #[test]
    fn what_was_begun_at_the_end_is_given_to_whoever_asks_for_it() {
        for (stream, rest) in [
            ("data: a\n\ndata: begun", Some(data("begun"))),
            ("data: begun\n", Some(data("begun"))),
            ("data: a\n\n", None),
            ("event: nothing\n", None),
        ] {
            let mut reader = Reader::new(1000);
            reader.push(stream.as_bytes(), drop).unwrap();

            assert_eq!(reader.rest(), rest, "{stream:?}");
        }
    }

    #[test]
    fn a_byte_order_mark_is_no_part_of_the_first_event() {
        let stream = b"\xef\xbb\xbfdata: a\n\ndata: \xef\xbb\xbfb\n\n";

        assert_eq!(read([stream]), [data("a"), data("\u{feff}b")]);
        assert_eq!(read(stream.chunks(1)), read([stream]));
    }

    #[test]
    fn an_event_may_say_only_where_to_go_on_to_whoever_comes_back() {
        let stream = b"id: 7\nretry: 250\ndata:\n\nid: 8\n\nid: a\0b\n\nevent: x\n\n";
        let first = Event { id: Some("7".to_owned()), retry_ms: Some(250), ..Event::default() };
        let second = Event { id: Some("8".to_owned()), ..Event::default() };
        let mut events = vec![];

        Reader::following(1000).push(stream, |event| events.push(event)).unwrap();

        assert_eq!(events, [first.clone(), second]);
        assert_eq!(read([stream]), [first]);
    }

    #[test]
    fn events_are_put_together_however_they_are_cut() {
        let stream =
            b": hello\r\n\r\nevent: message\r\ndata: {\"a\":\r\ndata: 1}\r\n\r\ndata:x\n\n";

        let whole = read([stream]);

        let message = Event { name: Some("message".to_owned()), ..data("{\"a\":\n1}") };
        assert_eq!(whole, [message, data("x")]);
        assert_eq!(read(stream.chunks(1)), whole);
    }

    #[test]
    fn an_event_without_end_in_sight_is_given_up() {
        let mut reader = Reader::new(100);

        let ending =
            (0..100).map(|_| reader.push(b"data: aaaaaaaaaa\n", drop)).find(Result::is_err);

        assert_eq!(ending, Some(Err(TooLarge { limit: 100 })));
    }

    #[test]
    fn a_line_without_end_is_given_up_before_it_is_buffered() {
        for line in ["data: ", ": ", "", "event: ", "id: "] {
            let mut reader = Reader::new(100);
            reader.push(line.as_bytes(), drop).unwrap();

            let ending = (0..100).map(|_| reader.push(&[b'a'; 10], drop)).find(Result::is_err);

            assert_eq!(ending, Some(Err(TooLarge { limit: 100 })), "{line:?}");
            assert!(reader.line.len() <= 100, "{line:?}");
            assert_eq!(reader.push(&vec![b'a'; 1 << 20], drop), Err(TooLarge { limit: 100 }));
            assert!(reader.line.capacity() < 1 << 10, "{line:?}");
        }
    }

    #[test]
    fn the_limit_is_for_each_event_and_not_for_the_stream() {
        let mut reader = Reader::new(100);
        let mut count = 0;

        for _ in 0..100 {
            reader.push(b"data: aaaaaaaaaaaaaaaaaaaa\n\n", |_| count += 1).unwrap();
        }

        assert_eq!(count, 100);
    }

    #[test]
    fn a_reconnection_delay_is_made_of_digits() {
        let events = read([b"retry: 250\nretry: +7\nretry: soon\nretry:\ndata: a\n\n"]);

        assert_eq!(events, [Event { retry_ms: Some(250), ..data("a") }]);
    }

    proptest! {
        #[test]
        fn any_cutting_of_the_bytes_gives_the_same_events(
            stream in prop::collection::vec(
                prop::sample::select(vec![
                    "data: a", "data:b", "data", "event: e", ": c", "id: 1", "retry: 2", "\n", "\r", "\r\n", "\n\n",
                    "\u{e9}", "data: \u{1f600}", "[DONE]",
                ]),
                0..40,
            ),
            cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..12),
        ) {
            let bytes = stream.concat().into_bytes();
            let mut cuts: Vec<usize> = cuts.iter().map(|cut| cut.index(bytes.len() + 1)).collect();
            cuts.extend([0, bytes.len()]);
            cuts.sort_unstable();
            let chunks = cuts.windows(2).map(|pair| &bytes[pair[0]..pair[1]]);

            prop_assert_eq!(read(chunks), read([&bytes]));
        }
    }
}
