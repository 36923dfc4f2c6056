//! Cues of new projects: software that is built, and words that say that nothing exists.

use cynode_domain::work_kind::WorkKind;

use super::KindScores;
use super::clauses::skip_openings;
use crate::intake::phrases::{CLAUSE_MARK, contains_any, find_any, match_start};
use crate::intake::reading::Reading;

/// Words that say that nothing exists yet.
const FROM_NOTHING: &[(i32, &str)] = &[
    (
        70,
        "from scratch | from nothing | nothing there yet | entwickeln lassen | programmieren lassen | greenfield | green field | from the ground up | start at zero | starting from zero | \
         start from zero | start from nothing | begin with nothing | nothing exists | empty repo | \
         empty repository | no existing software | no existing code | new code base | new codebase | \
         its own repository | own repository | new repository | fresh repository | new repo | \
         neues projekt | von grund auf | à partir de zéro | nouveau projet | desde cero | \
         proyecto nuevo | nuevo proyecto | don't have anything yet",
    ),
    (
        45,
        "new project | new application | new app | new web application | new web app | new website | \
          new product | first version | idea for a startup | idea for an app | new startup | new library | new saas | new service | new game | new tool | mvp | prototype | boilerplate | \
          scaffold | bootstrap | neue app | neue webanwendung | neue anwendung | aplicación web nueva | \
          fresh _ project | new _ project | new _ module | new _ library | new _ package | new _ app | new _ service | nouvelle application | nueva aplicación",
    ),
];
/// Words after "new project" that make it a part of an existing one.
const PARTS: &str = "page | dialog | form | list | button | wizard | screen | view | template | modal | \
    settings | field | menu | badge | endpoint | in the | to the | name | icon";
/// Words that show that something exists, which is built anew.
const EXISTING: &str = "rewrite | rewriting | redesign | rework | migrate | our existing | the existing | refactor | \
    convert | switch | port the | replace | the frontend | the backend";

pub(super) const BUILD_VERBS: &str = "build | create | write | make | develop | start | scaffold | bootstrap | \
    generate | code | design and build | set up | kick off | build me | write me | \
    make me | create me | program | prototype | erstelle | entwickle | programmiere | baue | schreibe | \
    créer | crée | développer | développe | crea | crear | desarrolla | desarrollar | \
    looking for someone to build | i'm looking for someone to build | someone to build | someone to develop | \
    we want | we'd like | we would like | i would like | i need | we need | i'd like | i want | have | i want you to code | quiero crear";
const ARTICLES: &str = "a | an | me a | me an | us a | new | simple | eine | ein | einen | une | un | una | \
    the new | some | another | our own | my own | desde cero una | desde cero un";
/// Software with its own code base.
const SOFTWARE: &str = "app | apps | application | website | web site | webapp | web app | site | tool | library | \
    bot | game | extension | platform | cli | compiler | interpreter | clone | saas | repository | repo | \
    project | kernel | shop | blog | generator | boilerplate | portal | program | simulator | emulator | \
    webanwendung | anwendung | aplicación | tienda | framework | workspace | monorepo | software | \
    marketplace | operating system | package | crate | server | command line tool | extension | \
    system | tracker | client | script | html file | converter | calculator | kommandozeilenprogramm | \
    operator | daemon | tracer | driver | firmware | sdk | plugin for | app for | site web | página web | prototype | mobile app | warehouse";
/// Software that may be a part of another one.
const PARTIAL_SOFTWARE: &str =
    "api | rest api | service | editor | engine | manager | parser | dashboard | planner";
/// Words after the name of software: it is the head of its phrase.
const FOLLOWERS: &str = "for | with | that | which | where | in | to | from | using | called | named | like | on | \
    of | written | so | built | based | and | , | für | pour | para | de | zur | zum | mit | by | only | pls | supporting | namex | \
    about | developed | where";
/// What follows if the software becomes a part of an existing one.
const ANCHORS: &str = "to the | to our | in our | into the | into our | inside the | inside our | on the _ page | \
    in the admin | in the app | in the dashboard | in the settings | page | and link them";

/// Weighs the cues of a new project.
pub(super) fn weigh_new_project(reading: &Reading, scores: &mut KindScores) {
    for (number, sentence) in reading.sentences.iter().enumerate() {
        if !sentence.section.is_main() {
            continue;
        }
        let is_title = number == 0;
        for (weight, table) in FROM_NOTHING {
            let Some((start, len)) = find_any(&sentence.words, table) else { continue };
            let is_part = match_start(&sentence.words[start + len..], PARTS).is_some();
            if is_part || contains_any(&sentence.words, EXISTING) {
                continue;
            }
            let cue = format!("the words \"{}\"", sentence.words[start..start + len].join(" "));
            let weight = if is_title || *weight == 70 { *weight } else { *weight / 2 };
            scores.add(WorkKind::NewProject, weight, cue);
        }
    }
    let Some(title) = reading.title() else { return };
    for (number, clause) in title.words.split(|word| word == CLAUSE_MARK).enumerate().take(3) {
        if let Some((software, weight)) = find_software(clause) {
            let weight = if number == 0 { weight } else { weight / 2 };
            scores.add(
                WorkKind::NewProject,
                weight,
                format!("the software to build, \"{software}\""),
            );
        }
    }
    weigh_name(&title.words, scores);
}

/// Languages after "in": what is written in one has its own code base.
const LANGUAGES: &str = "in rust | in go | in golang | in python | in java | in kotlin | in swift | in zig | in c | in typescript | \
    in javascript | in elixir | in haskell | in ruby | in php | in dart | in flutter | in ocaml | in scala | in lua | in nim";

/// Finds the software that a clause asks to build, with its weight.
fn find_software(clause: &[String]) -> Option<(String, i32)> {
    [clause, skip_openings(clause)].into_iter().find_map(find_object)
}

fn find_object(clause: &[String]) -> Option<(String, i32)> {
    let object = &clause[match_start(clause, BUILD_VERBS)?..];
    match_start(object, ARTICLES)?;
    if match_start(clause, "programmiere | entwickle | programmer | développe | desarrolla")
        .is_some()
    {
        return Some((object.join(" "), 65));
    }
    if let Some((start, len)) = find_any(object, LANGUAGES) {
        return Some((object[start..start + len].join(" "), 65));
    }
    if let Some((software, is_whole)) = find_head(object) {
        return Some((software, if is_whole { 75 } else { 40 }));
    }
    let tool =
        find_tool(object).filter(|_| match_start(clause, "build | make | program").is_some())?;
    Some((tool, 60))
}

/// Words that end like the name of a tool, but are parts of software.
const NO_TOOLS: &str = "folder | header | footer | banner | filter | helper | handler | wrapper | adapter | reminder | trigger | user | order | \
    number | newsletter | layer | controller | router | provider | loader | selector | indicator | customer | container | placeholder | \
    counter | slider | picker | timer | cursor | color | validator | iterator | renderer | divider | spinner | worker | pointer";

/// Finds a tool by the form of its name, as in "a URL shortener with …".
fn find_tool(object: &[String]) -> Option<String> {
    let end = find_any(object, "with | in | using | that | for | which")
        .map_or(object.len(), |(start, _)| start);
    let name = object[..end].last()?;
    let is_tool = (name.ends_with("er") || name.ends_with("or")) && name.len() > 5;
    (is_tool && find_any(std::slice::from_ref(name), NO_TOOLS).is_none()).then(|| name.clone())
}

/// Weighs a title that is only the name of software, as in "A static site generator in Go".
fn weigh_name(words: &[String], scores: &mut KindScores) {
    const SCRIPTS: &str = "script that | script to | script which | tool that | tool to | bot that | bot which | app that";
    if find_any(words, SCRIPTS).is_some_and(|(start, _)| start <= 2) {
        scores.add(WorkKind::NewProject, 45, "the name of a script");
    }
    if match_start(words, "a | an | simple | small | tiny | ein | eine | une | un | una").is_some()
        && let Some((software, is_whole)) = find_head(words)
    {
        let weight = if is_whole { 45 } else { 20 };
        scores.add(WorkKind::NewProject, weight, format!("the name of software, \"{software}\""));
    }
}

/// Finds software that is the head of the phrase at the start of the words; returns whether it is a whole product.
fn find_head(words: &[String]) -> Option<(String, bool)> {
    for start in 0..words.len().min(9) {
        // The phrase ends where another one begins.
        if start > 0
            && match_start(
                &words[start..],
                "for | that | which | with | to | where | when | in | of | on",
            )
            .is_some()
        {
            return None;
        }
        for (table, is_whole) in [(SOFTWARE, true), (PARTIAL_SOFTWARE, false)] {
            let Some(len) = match_start(&words[start..], table) else { continue };
            let rest = &words[start + len..];
            let is_head = rest.is_empty() || match_start(rest, FOLLOWERS).is_some();
            if is_head && match_start(rest, ANCHORS).is_none() {
                return Some((words[start..start + len].join(" "), is_whole));
            }
        }
    }
    None
}
