//! What a change is about, and how much is listed.

use cynode_domain::work_kind::{WorkKind, WorkScope};

use super::ScopeScores;
use crate::intake::classify::is_request;
use crate::intake::phrases::{CLAUSE_MARK, find_any, match_start, phrases};
use crate::intake::reading::{Reading, Sentence};

/// Things that are a part of one file.
const SMALL: &str = "flag | option | button | botón | bouton | tooltip | column | columns | spalte | field | champ | campo | link | shortcut | hotkey | \
    icon | badge | filter | filtro | raccourci | header | headers | dialog | confirmation | check | endpoint | route | function | method | \
    environment variable | env var | cookie | preview | sound | placeholder | subcommand | benchmark | progress bar | spinner | \
    readme | class | warning | status | checkbox | dropdown | menu | toggle | cursor | tab | row | rows | window | knopf | job | \
    name | names | doc comments | doc comment | docstring | type hints | example | dockerfile | log | log line | size | order | date | title | \
    subject line | variable | ifs | early returns | unused | dead code | number | count | total | error message | suggestions | \
    nginx config | completions | weekly summary | url | urls | redirect | font size | sidebar | box | linter | ci | workflow | \
    contact form | script | attributes | value | retry count | retry | backoff | timeout | id | avatar | thumbnail | hint | prefix | suffix | \
    unit | decimal | precision | locale | format | range | threshold | validation | assertion | parameter | argument | property | key | \
    metric | counter | gauge | tag | tags | annotation | exit code | signal | palette | hover | scroll | zoom | animation | animations | gesture | \
    position | unit test | test case | tests for namex | section | popup | colonne | columna | test for | a test that | a test | weekends | intro | robots | gzip | seed | helper | loop | constructor | \
    enum | struct | query parameter | empty state | divider | margin | padding | border | label | colour | color | emoji | footer | \
    banner | version | setting | reminder | confirm | mute | pause | speed | volume | contributing | changelog | license";
/// Things that are several files.
const MEDIUM: &str = "page | seite | screen | dashboard | panel | view | board | wizard | import | importer | export | exporter | exportieren | \
    integration | integrate | full text search | search | login | sign in | sso | oauth | authentication | two factor | 2fa | notifications | \
    benachrichtigungen | webhooks | audit log | comments | attachments | rest api | crud | endpoints | module | package | \
    integration tests | end to end tests | test suite | test coverage | coverage of | rate limiting | caching | redis | refactor | refactoring | \
    access control | roles | permissions | chat | messaging | recurring | wishlist | reactions | payment | payments | pdf export | address book | \
    statistics | analytics | charts | map | kanban | undo and redo | collaborative | soft delete | upload | uploads | guide | tutorial | docker compose | \
    structured logging | resumable | gdpr | password reset | saved | bulk | slack | calendar | upgrade | custom fields | \
    query builder | interface | public api | streaming | stream | batch | push notifications | saml | ldap | stornieren | estadísticas | \
    gráficos | timeline | account | accounts | history | digest | jira | trello | invitation | invitations | drag and drop | template | templates | \
    report | reports | reporting | subscription | subscriptions | leaderboard | ranking | rankings | inventory | editor | mode | system | management | \
    verwaltung | plans | transport | language server | locali* | translation | translations | gallery | marketplace | feed | forum | poll | survey | \
    quiz | booking | reservations | coupons | gutscheine | monitoring | sync | synchronisation | backup | restore | versioning | themes | workflows | \
    approval | onboarding | tour | ocr | speech | voice | video | recording | checkout | cart | invoices | plugins | macros | scripting | \
    achievements | matchmaking | lobby | save and load | slots | player | profile | profiles | provider | adapter | backend for | driver | client for | \
    storage | scheduler | queue | pipeline | migration | migrations | mqtt | kafka | websocket | websockets | sentry | stripe | parser | \
    configuration options | preferences | spreadsheet | spreadsheets | config options | settings | modules | smaller";
/// Verbs of changes in one file.
const SMALL_VERBS: &str = "show | display | sort | validate | log | warn | remember | keep | ignore | allow | let me | let users | let | hide | print | \
    make | mask | redirect | don't | do not | stop | skip | extract | remove | delete | deprecate | handle | accept | expose | \
    enforce | support | replace the nested | style | warn before | resize | should | no more than | instead of failing | \
    grey out | close | run the | pin | mark | change | speed up | use | exclude | tag | pull out | respect | round | trim | report | call | \
    prefer | retry | open | play | preserve | highlight | collapse | wait | treat | return | detect | focus | align | could | \
    skip the | anpinnen | ordenar | ignorieren | rename | include | reuse | sort by | rather than | cover | have | check | prompt | parse | put";
/// Verbs of changes in several files.
const MEDIUM_VERBS: &str = "integrate | implement | refactor | introduce | document | upgrade | set up | provide | write a guide | \
    create | need | share | build | migrate | split | rewrite | locali* | translate | design | manage | improve";
/// Words after which a phrase only says where, when or why.
const PREPOSITIONS: &str = "to | in | for | on | of | that | which | when | so | with | from | next | under | before | after | if | as | \
    into | at | between | while | without | by | where | zur | zum | à | a la";

/// Verbs that create something; what they create decides.
const CREATE_VERBS: &str = "add | implement | introduce | create | build | integrate | develop | design | set up | setup | provide | write | \
    support | new | need | needs | i'd like a | we need | please add | añade | añadir | ajouter | füge | baut | baue | refactor | upgrade | rewrite | \
    migrate | split | document | implementar | add support | offer | refactoring | feature | locali*";

/// Weighs the form of the title: a defect is small, a thing that is created medium, any other change small.
pub(super) fn weigh_form(reading: &Reading, kind: WorkKind, scores: &mut ScopeScores) {
    if kind == WorkKind::QuickFix {
        scores.add(WorkScope::Small, 30, "the size of most defects");
        return;
    }
    if creates(reading) {
        scores.add(WorkScope::Small, 13, "the size of many changes");
        scores.add(WorkScope::Medium, 17, "a thing that is created");
    } else {
        scores.add(WorkScope::Small, 28, "a change of something that exists");
        scores.add(WorkScope::Medium, 13, "the size of many features");
    }
}

/// Whether the title asks for a new thing, by a verb or by its name alone.
fn creates(reading: &Reading) -> bool {
    const NO_NAMES: &str = "it | it'd | bitte | could | can | i | we | when | wenn | if | as | es | the | would | should | users | you";
    let Some(title) = reading.title() else { return false };
    let start = &title.words[..title.words.len().min(7)];
    let first = title.words.split(|word| word == CLAUSE_MARK).next().unwrap_or_default();
    let is_name =
        !is_request(first) && match_start(first, NO_NAMES).is_none() && !title.is_question;
    is_name || find_any(start, CREATE_VERBS).is_some()
}

/// Weighs the things that the title names; where it stands counts less than what it is.
pub(super) fn weigh_objects(reading: &Reading, kind: WorkKind, scores: &mut ScopeScores) {
    const PARTS: &str = "the _ package | the _ module | the _ component | the _ process | the _ library | the _ subsystem | its configuration";
    if kind == WorkKind::QuickFix {
        return;
    }
    let Some(title) = reading.title() else { return };
    let head = head_len(title);
    let creates = creates(reading);
    for (scope, weight, table) in [(WorkScope::Small, 25, SMALL), (WorkScope::Medium, 28, MEDIUM)] {
        let mut found: Vec<(usize, String)> = phrases(table)
            .filter_map(|phrase| find_any(&title.words, phrase))
            .map(|(start, len)| (start, title.words[start..start + len].join(" ")))
            .collect();
        found.sort();
        if let Some((start, thing)) = found.into_iter().next() {
            let is_main = start < head && (creates || scope == WorkScope::Small);
            let weight = if is_main { weight } else { weight * 2 / 5 };
            scores.add(scope, weight, format!("the object \"{thing}\""));
        }
    }
    if let Some((start, len)) = find_any(&title.words, PARTS) {
        let part = title.words[start..start + len].join(" ");
        scores.add(WorkScope::Medium, 20, format!("the component \"{part}\""));
    }
    if reading.prefix.as_deref() == Some("refactor") {
        scores.add(WorkScope::Medium, 15, "a refactoring");
    }
    if title.text.contains("--") {
        scores.add(WorkScope::Small, 25, "a flag");
    }
    for (scope, table) in [(WorkScope::Small, SMALL_VERBS), (WorkScope::Medium, MEDIUM_VERBS)] {
        if let Some((start, len)) = find_any(&title.words, table).filter(|(start, _)| *start < 6) {
            let verb = title.words[start..start + len].join(" ");
            scores.add(scope, 15, format!("the verb \"{verb}\""));
        }
    }
    let joined = title
        .words
        .iter()
        .filter(|word| matches!(word.as_str(), "and" | "und" | "et" | "y"))
        .count();
    if joined > 0 && title.words.len() > 8 {
        scores.add(WorkScope::Medium, 10, "several parts joined by \"and\"");
    }
}

/// The number of words before the first preposition.
fn head_len(title: &Sentence) -> usize {
    let words = &title.words;
    // A preposition at the very start belongs to an opening.
    let skipped = words.len().min(2);
    find_any(&words[skipped..], PREPOSITIONS).map_or(words.len(), |(start, _)| skipped + start)
}

/// Weighs how much is listed: files, requirements, parts of an enumeration, length.
pub(super) fn weigh_counts(reading: &Reading, kind: WorkKind, scores: &mut ScopeScores) {
    let files = reading.paths.len();
    match files {
        0 => {}
        1 => scores.add(WorkScope::Small, 20, "one named file"),
        2 => scores.add(WorkScope::Medium, 10, "two named files"),
        _ => scores.add(WorkScope::Medium, 45, format!("{files} named files")),
    }
    let items = reading.requirements().count();
    let longest = reading
        .sentences
        .iter()
        .filter(|sentence| sentence.section.is_main())
        .map(count_enumerated)
        .max()
        .unwrap_or(0);
    let listed = items.max(longest);
    match listed {
        0..=2 => {}
        3..=8 if kind == WorkKind::QuickFix => {
            scores.add(
                WorkScope::Medium,
                if listed > 3 { 35 } else { 15 },
                format!("{listed} listed places"),
            );
        }
        3 => scores.add(WorkScope::Medium, 20, "3 listed parts"),
        4..=8 => scores.add(WorkScope::Medium, 32, format!("{listed} listed parts")),
        _ => scores.add(WorkScope::Large, 40, format!("{listed} listed parts")),
    }
    let words: usize = reading
        .sentences
        .iter()
        .filter(|sentence| sentence.section.is_main())
        .map(|sentence| sentence.words.len())
        .sum();
    if kind == WorkKind::FeatureRequest {
        match words {
            0..=30 => {}
            31..=300 => scores.add(WorkScope::Medium, 12, "its length"),
            _ => scores.add(WorkScope::Large, 15, "its length"),
        }
    }
}

/// The number of parts of the enumeration of a sentence: "a, b and c" has three.
fn count_enumerated(sentence: &Sentence) -> usize {
    const MAX_PART: usize = 8;
    let parts: Vec<&str> = sentence.text.split([',', '，']).collect();
    if parts.len() < 2 {
        return 0;
    }
    let length = |part: &str| part.split_whitespace().count();
    // The first part contains the words before the enumeration, so its length does not count.
    let short = parts.iter().skip(1).filter(|part| length(part) <= MAX_PART).count();
    let joins = parts.last().is_some_and(|part| {
        part.split_whitespace()
            .skip(1)
            .any(|word| matches!(word, "and" | "or" | "und" | "et" | "y"))
    });
    if short == 0 { 0 } else { 1 + short + usize::from(joins) }
}
