//! Questions that want an answer and no change.

use crate::intake::classify::{has_request, has_strong_defect};
use crate::intake::phrases::{contains_any, match_start};
use crate::intake::reading::{Reading, Section, Sentence};

/// The longest question, in words, with what surrounds it.
const MAX_WORDS: usize = 80;

/// Words before a question.
const OPENINGS: &str = "hey | hi | hello | quick question | question | just wondering | i was wondering | i wonder | wondering | , | \
    also | and | so | ok | eine frage | kurze frage | une question | una pregunta | do you know | does anyone know | \
    just curious | curious | out of curiosity | anyone knows | can anyone tell me | hola | bonjour | hallo | thanks | for my understanding";
/// Starts of questions for information, also without a question mark.
const ASKING: &str = "how do | how does | how is | how are | how can i | how do i | how many | how much | how long | how often | how come | \
    how should i | how you | how would i | what is | what's | what are | what does | what do | what happens | what kind | what version | where is | \
    where are | where do | where does | where can | which | who | when is | when does | when will | when was | why do | why does | why is | \
    why are | why did | what was | wie funktioniert | wie geht | wie kann ich | wie viele | was ist | was bedeutet | was passiert | wo ist | wo finde | \
    welche | welcher | wer | wann | warum | wieso | comment fonctionne | comment | qu'est ce | quelle | quel | où | pourquoi | quand | \
    combien | cómo | qué | dónde | cuál | cuándo | por qué | para qué";
/// Starts of questions for information that need a question mark.
const ASKING_WITH_MARK: &str = "is there | are there | is it | is the | is that | are the | are we | does | do we | do you | do i | did | has | have we | have you | \
    should i | can i | may i | am i | will | was | were | gibt es | ist | sind | kann ich | muss ich | hat | est ce que | y a t il | \
    hay | es | se puede | puedo | is | are | what | when | where | what about the | how";
/// Requests for an explanation.
const EXPLAIN: &str = "can you explain | could you explain | can you tell me | could you tell me | can you describe | could you describe | \
    can you clarify | could you clarify | please explain | explain to me | help me understand | tell me | kannst du erklären | \
    kannst du mir erklären | kannst du mir sagen | erkläre mir | peux tu m'expliquer | pouvez vous m'expliquer | puedes explicar | \
    would you explain | i'd like to know | i would like to know | i want to know | i want to understand | explain how | explain why | \
    explain what | explain the | can someone explain | could someone explain";
/// Forms of questions that request work.
const REQUESTS: &str = "what if | how about | what about | would it | could it | could we | can we | is it possible to | would you | \
    could you | can you | can the _ please | please | shouldn't | should the | should we | why not | why can't i | why can't we | \
    would be | be fixed | a bug | how to reproduce | any chance | can someone | could someone | can it | could there | can there | \
    wäre es | können wir | kannst du | könnt ihr | pourriez | peux tu | pouvez | serait il | podrías | podemos | is this intended | \
    be added | be possible | to make | to add | to have | to support | will you add | are there any plans | any plans";
/// Words of reports in the form of a question: "why do I get this although …".
const COMPLAINTS: &str = "although | even though | why do i | why is my | why are my | why does my | why does it | why does the app | why is it | \
    why can i | warum kann ich | warum wird mein* | i get | yesterday | since";

/// Words of documents: an explanation that is to be written, not given.
const DOCUMENTS: &str = "docs | documentation | readme | guide | faq | tutorial | help page | changelog | wiki | in namex | manual";

/// Whether the whole text is a question.
pub(super) fn is_question(reading: &Reading) -> bool {
    let words: usize = reading.sentences.iter().map(|sentence| sentence.words.len()).sum();
    let is_report = [Section::Steps, Section::Symptom, Section::Wish, Section::Expected]
        .iter()
        .any(|section| reading.sections.contains(section));
    if words > MAX_WORDS
        || is_report
        || reading.prefix.is_some()
        || reading.has_trace
        || !reading.paths.is_empty()
    {
        return false;
    }
    let mut asks = false;
    for sentence in &reading.sentences {
        let is_asking = asks_for_information(sentence);
        asks |= is_asking;
        let complains = contains_any(&sentence.words, COMPLAINTS);
        if complains || has_strong_defect(&sentence.words) || (!is_asking && has_request(sentence))
        {
            return false;
        }
    }
    asks
}

fn asks_for_information(sentence: &Sentence) -> bool {
    let words = skip(&sentence.words);
    if match_start(words, EXPLAIN).is_some() {
        return !contains_any(words, DOCUMENTS);
    }
    if contains_any(&words[..words.len().min(8)], REQUESTS)
        || contains_any(words, "please | be fixed")
    {
        return false;
    }
    // A colon after the start makes it a heading: "What I'd like: a summary".
    let is_heading = words.iter().take(5).any(|word| word == ",") && !sentence.is_question;
    !is_heading
        && (match_start(words, ASKING).is_some()
            || (sentence.is_question && match_start(words, ASKING_WITH_MARK).is_some())
            || (words.len() < sentence.words.len()
                && contains_any(&sentence.words, "wondering how | wondering what | wondering why")))
}

fn skip(mut words: &[String]) -> &[String] {
    while let Some(len) = match_start(words, OPENINGS).filter(|&len| len < words.len()) {
        words = &words[len..];
    }
    words
}
