//! What a change is about, and how much is listed.

use cynode_domain::work_kind::{WorkKind, WorkScope};

use super::ScopeScores;
use crate::intake::phrases::{find_any, phrases};
use crate::intake::reading::{Reading, Sentence};

/// Things that are a part of one file.
const SMALL: &str = "flag | option | button | tooltip | column | columns | spalte | field | champ | link | shortcut | icon | badge | \
    filter | filtro | header | headers | dialog | check | endpoint | route | function | method | environment variable | cookie | \
    preview | sound | placeholder | subcommand | benchmark | progress bar | readme | class | warning | status | checkbox | \
    dropdown | menu | toggle | cursor | tab | row | rows | window | knopf | job | name | case | doc comments | type hints | \
    example | dockerfile | log | size | order | tag names | date | title | subject line | variable | ifs | early returns | \
    unused | dead code | number | error message | suggestions | contributing | nginx config | completions | \
    weekly summary | set | hashmap | url* | urls | redirect | proxy | font size | sidebar | box | linter | ci | cache the cargo | \
    actions weekly | contact form | script | pin | attributes | value | retry count";
/// Things that are several files.
const MEDIUM: &str = "page | seite | screen | dashboard | panel | view | board | wizard | import | export | exporter | exportieren | \
    integration | integrate | full text search | search | login | sso | oauth | authentication | two factor | 2fa | notifications | \
    benachrichtigungen | webhooks | audit log | comments | attachments | rest api | crud | endpoints | module | package | \
    integration tests | end to end tests | playwright | test coverage | coverage of | rate limiting | redis | refactor | \
    access control | roles | chat | recurring | wishlist | reactions | stripe | payment | pdf export | address book | statistics | \
    charts | map | kanban | undo and redo | collaborative | soft delete | upload | guide | tutorial | docker compose | \
    structured logging | resumable | gdpr | password reset | saved | bulk | slack | calendar | react router | upgrade | \
    query builder | interface | public api | streaming | stream | batch | settings screen | push notifications | saml | \
    stornieren | estadísticas | gráficos | timeline | account | history | reload its configuration | digest | moment | \
    trello | jira | github actions | letterhead | invitation | drag and drop | template | report | subscription | \
    date fns | class per | notification";
/// Verbs of changes in one file.
const SMALL_VERBS: &str = "show | display | sort | validate | log | warn | remember | keep | ignore | allow | let | hide | print | \
    make | mask | redirect | don't | do not | stop | skip | extract | remove | delete | deprecate | handle | accept | expose | \
    enforce | support | support for | option | replace the nested | style | warn before | resize | should | no more than | instead of failing | \
    ignore* | grey out | pin | sort the | mark | change | speed up";
/// Verbs of changes in several files.
const MEDIUM_VERBS: &str = "integrate | implement | refactor | introduce | document | upgrade | set up | provide | write a guide | bulk | \
    raise the test | integration tests | create | need | share";
/// Words after which a phrase only says where, when or why.
const PREPOSITIONS: &str = "to | in | for | on | of | that | which | when | so | with | from | next | under | before | after | if | as | \
    into | at | between | while | without | by | where | zur | zum | à | a la";

/// Weighs the things that the title names; where it stands counts less than what it is.
pub(super) fn weigh_objects(reading: &Reading, kind: WorkKind, scores: &mut ScopeScores) {
    if kind == WorkKind::QuickFix {
        return;
    }
    let Some(title) = reading.title() else { return };
    let head = head_len(title);
    for (scope, weight, table) in [(WorkScope::Small, 25, SMALL), (WorkScope::Medium, 28, MEDIUM)] {
        let mut found: Vec<(usize, String)> = phrases(table)
            .filter_map(|phrase| find_any(&title.words, phrase))
            .map(|(start, len)| (start, title.words[start..start + len].join(" ")))
            .collect();
        found.sort();
        if let Some((start, thing)) = found.into_iter().next() {
            let weight = if start < head { weight } else { weight * 2 / 5 };
            scores.add(scope, weight, format!("the object \"{thing}\""));
        }
    }
    for (scope, table) in [(WorkScope::Small, SMALL_VERBS), (WorkScope::Medium, MEDIUM_VERBS)] {
        if let Some((start, len)) = find_any(&title.words, table).filter(|(start, _)| *start < 5) {
            let verb = title.words[start..start + len].join(" ");
            scores.add(scope, 15, format!("the verb \"{verb}\""));
        }
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
        3 => scores.add(WorkScope::Medium, 15, "3 listed parts"),
        4..=8 => scores.add(WorkScope::Medium, 25, format!("{listed} listed parts")),
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
    const MAX_PART: usize = 6;
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
