//! Changes of one value or word.

use cynode_domain::work_kind::{WorkKind, WorkScope};

use super::ScopeScores;
use crate::intake::phrases::{contains_any, find_any, match_start};
use crate::intake::reading::{Reading, Sentence};

/// The longest text, in words, that describes the change of one value.
const MAX_WORDS: usize = 45;

/// Words that name a change of one line.
const ONE_LINE: &[(i32, &str)] = &[
    (
        75,
        "typo | typos | misspell* | misspelt | spelling | tippfehler | schreibfehler | faute de frappe | errata | one liner",
    ),
    (
        60,
        "one line | copyright year | off by one in | off by one error | semicolon | is spelled | double slash | dockerignore | namex → namex | line # | gitignore | authors | alias | an alias | stray | \
         statt namex | digits swapped | where it should be | known vulnerability | trailing namex",
    ),
];
/// Verbs that replace a value.
const VALUE_VERBS: &str = "change | set | increase | raise | lower | reduce | decrease | bump | upgrade | update | rename | use | \
    default | make the | turn on | disable | enable | pin | swap | setzen | setze | ändere | cambia | change le | replace | remove | \
    turn off | call | shorten | lengthen | shrink | halve | double | readme says | help text | imprint | move the version | correct | add the | add namex | add my";
/// Nouns that have one value.
const VALUE_NOUNS: &str = "label | text | texte | texto | wording | title | placeholder | colour | color | background | font | limit | \
    timeout | default | standardwert | version | level | constant | port # | default port | link | url | path | year | \
    env variable | unit | width | max width | height | delay | header namex | column header | phone number | number of retries | \
    page size | pool size | image in | banner | button namex | namex button | bouton namex | attribute | log level | \
    minutes | seconds | ms | mb | px | footer | file name | password length | list of allowed | quantity | logo file | help text | readme | imprint | grammar | e mail in | menu entry | memory limit | source maps | minimum | \
    logo | by default | holder | sdk | threshold | opacity | margin | padding | border | volume | interval | caption | heading | footnote | slogan | debounce | rate limit | greeting | tooltip | image tag | favicon | spaces | tabs | editorconfig | button should";
/// Replacements that name the new value, or the old and the new one.
const TARGETS: &str = "from # to # | from # # to | from v# to | to # | to v# | to namex | should be # | should be namex | \
    should point | must be | instead of namex | instead of # | instead of black | says # | says namex | not # | \
    to 2 | auf namex | en namex | a verde | to debug | to dark | is namex | from # # # to # # # | to main | should be green | should be red | should be blue | be green | be blue | be red | be black | be white | be grey | be gray | \
    be orange | be yellow | a rojo | a azul | auf rot | auf grün | auf blau | new address | to the gitignore | to _ ms | bigger | wider | darker | lighter | bold | italic | should read | should say | rather than namex | wrong year | wrong unit | wrong link | wrong url | wrong label | wrong colour | wrong color | \
    wrong version | wrong port | wrong e mail | wrong address | wrong title | \
    on by default | off by default | off in | on in | default of # | it's # | to _ namex | in production | to namex namex";
/// Files that are changed by one line.
const VERSION_BUMPS: &str = "bump | bumps | update actions | upgrade the _ image";
/// Words that say that more than one value changes.
const MORE: &str = "api changed | deprecated | and fix | breaking | everywhere | across | all | every | adapt | configuration and | configurable | per key | test coverage | coverage | \
    tests | validate | enforce | migrate | port the | refactor | router | django | spring | webpack | react";

/// Weighs the cues of a change of one value.
pub(super) fn weigh_value(reading: &Reading, kind: WorkKind, scores: &mut ScopeScores) {
    let words: usize = reading.sentences.iter().map(|sentence| sentence.words.len()).sum();
    if words > MAX_WORDS || reading.requirements().count() > 1 {
        return;
    }
    let main = || reading.sentences.iter().filter(|sentence| sentence.section.is_main());
    let mut found: Vec<(i32, String)> = vec![];
    for sentence in main() {
        weigh_sentence(sentence, kind, &mut found);
    }
    let has_more = main().any(|sentence| {
        contains_any(&sentence.words, MORE) && match_start(&sentence.words, VERSION_BUMPS).is_none()
    });
    for (weight, cue) in found {
        scores.add(WorkScope::Trivial, if has_more { weight / 3 } else { weight }, cue);
    }
}

fn weigh_sentence(sentence: &Sentence, kind: WorkKind, found: &mut Vec<(i32, String)>) {
    let words = &sentence.words;
    for (weight, table) in ONE_LINE {
        if let Some((start, len)) = find_any(words, table) {
            found.push((*weight, format!("the words \"{}\"", words[start..start + len].join(" "))));
        }
    }
    // A flag is more than a value.
    if sentence.text.contains("--") {
        return;
    }
    if match_start(words, VERSION_BUMPS).is_some() {
        found.push((45, "a new version".to_owned()));
    }
    let names_value = find_any(words, VALUE_NOUNS);
    let corrects = kind == WorkKind::QuickFix && names_value.is_some();
    let names_target =
        find_any(words, TARGETS).or_else(|| find_any(words, "should be").filter(|_| corrects));
    let replaces = find_any(words, VALUE_VERBS).filter(|(start, _)| *start < 4);
    let text = |(start, len): (usize, usize)| words[start..start + len].join(" ");
    // A value without its replacement, or a verb alone, says little.
    if let (Some(value), true) = (names_value, names_target.is_some() || replaces.is_some()) {
        found.push((25, format!("the value \"{}\"", text(value))));
    }
    if let (Some(target), true) = (names_target, names_value.is_some() || replaces.is_some()) {
        found.push((25, format!("the replacement \"{}\"", text(target))));
    } else if let (Some(target), WorkKind::QuickFix) = (names_target, kind) {
        found.push((20, format!("the replacement \"{}\"", text(target))));
    }
    if let (Some(verb), true) = (replaces, names_value.is_some() || names_target.is_some()) {
        found.push((20, format!("the verb \"{}\"", text(verb))));
    }
}
