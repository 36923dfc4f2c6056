//! A submission as the rules read it: sentences in sections, without the parts that must not decide.

mod clean;
mod lines;
mod meta;
mod sections;

use std::collections::BTreeSet;

use super::phrases::split_words;
pub(super) use sections::Section;

/// What a long text asks for is in its beginning; the limits bound the work.
const MAX_WORDS: usize = 3_000;
const MAX_SENTENCE_WORDS: usize = 200;

/// A text in the parts that rules distinguish.
#[derive(Debug, Default)]
pub(super) struct Reading {
    /// In the order of the text.
    pub(super) sentences: Vec<Sentence>,
    /// The headings that are no known part of a template, in lower-case words.
    pub(super) headings: Vec<Vec<String>>,
    /// The known sections that have a heading.
    pub(super) sections: BTreeSet<Section>,
    /// The prefix of the title, such as `fix` in `fix(parser): …` or `[Bug] …`.
    pub(super) prefix: Option<String>,
    /// Paths of files with a known extension.
    pub(super) paths: BTreeSet<String>,
    /// Whether a stack trace stands in the open, outside of fenced code.
    pub(super) has_trace: bool,
    /// Whether sentences about the classification were left out.
    pub(super) has_meta: bool,
    /// Whether a horizontal rule separates parts.
    pub(super) has_rule: bool,
    /// The words that were read.
    word_count: usize,
}

#[derive(Debug)]
pub(super) struct Sentence {
    /// Lower-case words; quoted names and inline code are the word `namex`.
    pub(super) words: Vec<String>,
    /// The sentence as written.
    pub(super) text: String,
    pub(super) section: Section,
    pub(super) is_item: bool,
    pub(super) is_question: bool,
    /// The line of the cleaned text.
    pub(super) line: usize,
}

impl Reading {
    /// Reads a text; a text of fenced code alone is read as prose.
    pub(super) fn parse(text: &str) -> Self {
        let clean = clean::clean(text);
        let reading = Self::parse_prose(&clean.prose);
        if reading.sentences.is_empty() && !reading.has_trace && !reading.has_meta {
            return Self::parse_prose(&clean.code);
        }
        reading
    }

    /// The sentence that says what is wanted: the title, or the first one of a template's main section.
    pub(super) fn title(&self) -> Option<&Sentence> {
        self.sentences
            .iter()
            .find(|sentence| sentence.section.is_main() && !sentence.words.is_empty())
    }

    /// The sentences after the title.
    pub(super) fn body(&self) -> impl Iterator<Item = &Sentence> {
        let title = self.title().map(std::ptr::from_ref);
        self.sentences.iter().filter(move |sentence| title != Some(std::ptr::from_ref(*sentence)))
    }

    /// The list items that are requirements.
    pub(super) fn requirements(&self) -> impl Iterator<Item = &Sentence> {
        self.sentences.iter().filter(|sentence| sentence.is_item && sentence.section.is_main())
    }

    fn parse_prose(prose: &str) -> Self {
        let mut reading = Self::default();
        let mut section = Section::Plain;
        for (number, line) in prose.lines().enumerate() {
            if reading.word_count >= MAX_WORDS {
                break;
            }
            if lines::is_trace_frame(line) {
                reading.has_trace = true;
                continue;
            }
            if let Some(heading) = lines::heading(line) {
                let words = split_words(heading);
                let known = sections::find_section(&words);
                if known.is_some() || !reading.sentences.is_empty() || !reading.headings.is_empty()
                {
                    section = known.unwrap_or(Section::Plain);
                    match known {
                        Some(known) => drop(reading.sections.insert(known)),
                        None if words.is_empty() || meta::is_meta(heading) => {}
                        None => reading.headings.push(words),
                    }
                    continue;
                }
            }
            let is_rule =
                line.len() >= 3 && line.trim().chars().all(|c| matches!(c, '-' | '*' | '_'));
            reading.has_rule |= is_rule && !reading.sentences.is_empty();
            reading.push_line(line, section, number);
        }
        reading
    }

    fn push_line(&mut self, line: &str, section: Section, number: usize) {
        let (is_item, mut rest) = lines::strip_marker(line);
        if sections::is_boilerplate(rest) {
            return;
        }
        if self.sentences.is_empty() && self.prefix.is_none() {
            let (prefix, title) = lines::split_prefix(rest);
            (self.prefix, rest) = (prefix, title);
        }
        self.has_trace |= lines::is_error_line(rest);
        for text in lines::split_sentences(rest) {
            if self.word_count >= MAX_WORDS {
                return;
            }
            let text = lines::without_groups(text, meta::is_meta);
            let mut words = split_words(&clean::replace_names(&text));
            words.truncate(MAX_SENTENCE_WORDS);
            self.word_count += words.len();
            let is_meta = meta::is_meta(&text);
            self.has_meta |= is_meta;
            if is_meta || words.is_empty() {
                continue;
            }
            if section.is_main() {
                self.paths.extend(lines::file_paths(&text));
            }
            let is_question = text.trim_end().ends_with('?');
            let sentence = Sentence { words, text, section, is_item, is_question, line: number };
            self.sentences.push(sentence);
        }
    }
}

#[cfg(test)]
mod tests;
