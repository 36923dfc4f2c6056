//! How far a change reaches: quantifiers over parts of a system, tiers, architecture, migrations.

use cynode_domain::work_kind::{WorkKind, WorkScope};

use super::ScopeScores;
use crate::intake::phrases::{contains_any, find_any, match_start};
use crate::intake::reading::{Reading, Sentence};

/// Words of changes to the architecture, or to all of a product.
const ARCHITECTURE: &[(i32, &str)] = &[
    (
        60,
        "architecture | architectures | architektur | arquitectura | microservice* | monolith | multi tenan* | \
         multitenan* | event sourcing | monorepo | plugin system | plugin architecture | message bus | \
         end to end encryption | offline support | offline first | offline mode | real time collaboration | data residency | \
         code base | codebase | everywhere | throughout | wcag | data pipeline | permission model | \
         multiple regions | multi region | whole application | entire application | whole app | \
         entire app | entire web app | whole ui | whole backend | whole frontend | whole product | whole platform | \
         whole code* | whole system | entire system | entire code* | gesamte anwendung | gesamte app | komplette | \
         toda la aplicación | toute l'application | complete rewrite | rewrite the | across all | across every | \
         across the | unified identity | separate services | new brand | rebrand* | everything | sso across | \
         complete repository | entire repository | whole repository | complete code* | modulari* | high availability | single point of failure | whole platform | toda la plataforma | server from the client | design system | \
         single sign on for | white label | federation | vulkan | \
         all of our | native | each module | every module | internationali* | on all three sides | to the platform",
    ),
    (
        25,
        "redesign | rework | epic | rfc | framework | replication | failover | protocol | migrate the existing | \
          crdt* | kubernetes | one place | common",
    ),
];
/// Words before a part that name all of them, or several.
const QUANTIFIERS: &str = "all | every | each | all our | all the | both | two | three | four | five | six | seven | eight | \
    nine | ten | eleven | twelve | # | several | many | almost every | alle | todos los | tous les | between the";
/// Parts of a system, each of which is a component.
const PARTS: &str = "services | service | apps | applications | packages | package | modules | module | components | clients | \
    repositories | platforms | projects in | microservices | code bases | teams | solutions | panels | systems | sides | \
    repository class* | checkout flows";
/// Parts inside of one component.
const INNER_PARTS: &str = "pages | screens | views | files | endpoints | classes | controllers | helpers | tests | places | \
    forms | reports | tables | functions | importers | exporters | templates | commands | queries | handlers | routes | jobs | scripts";
/// The tiers of a product; each row is one.
const TIERS: &[&str] = &[
    "frontend | front end | ui | web | website | web site | web app | web client | web shop",
    "backend | back end | server | sync server | api",
    "database | storage | a store | db | schema",
    "phone app | phone | firmware | hub | tv app | watch app",
    "cloud api | cloud | console | app builds | branding",
    "ios | iphone",
    "android",
    "apps | mobile | mobile app | mobile client | mobile apps | the apps",
    "desktop | desktop app | desktop client",
    "sdk | sdks | client library | shared library",
    "docs | documentation | legal texts",
    "e mails | emails | mailer | e mail templates",
    "worker | workers | background jobs | jobs | nightly jobs | nächtliche | trabajos nocturnos",
    "gateway | editor | middleware",
    "queue | queue service | message queue",
    "scheduler | job scheduler",
    "erp | crm | warehouse system",
    "admin | customer portal | support portal | portal | forum | kiosk",
    "invoice service | payment provider | invoices | billing | rechnungen | finance exports | payments | informes",
    "warehouse software | shop",
    "search",
];
/// Verbs that move a system to another technology.
const MIGRATIONS: &str = "migrate | migrating | migrar | port | convert | rewrite | switch | move from | replace our | \
    go from | move all | modulari* | move the | moving | umstellen | migrieren | split the | upgrade everything | adopt | replace | bring";
/// What is moved, if it is a system.
const SYSTEMS: &str = "api | gateway | product | firebase | database | frontend | backend | application | app | apps | solution | mysql | postgresql | postgres | \
    mongodb | sqlite | oracle | javascript | typescript | angularjs | react | vue | rest | graphql | grpc | redux | \
    cordova | java | spring | net | framework | monorepo | auth | orm | cloud | aws | azure | kubernetes | \
    lerna | services | python 2 | python 3 | kotlin | swift | rust | engine | opengl | vulkan | metal | qt | gtk | electron | flutter | python | php | node | vm | ec2 | eks | \
    heroku | on premise | gcp | cassandra | dynamodb";
/// Limits of a change to one part.
const LIMITS: &str = "in the _ package | in the _ module | in the _ panel | in the _ app | in the _ class | in the _ component | \
    in the _ function | in namex | in the calendar | in the admin | in the intranet | the ci | in _ _ js | in src | module | in one file";

/// Weighs how far the change reaches.
pub(super) fn weigh_extent(reading: &Reading, kind: WorkKind, scores: &mut ScopeScores) {
    for sentence in reading.sentences.iter().filter(|sentence| sentence.section.is_main()) {
        weigh_architecture(sentence, scores);
        weigh_quantifiers(sentence, scores);
        weigh_tiers(&sentence.words, scores);
        if kind == WorkKind::FeatureRequest {
            weigh_migration(sentence, scores);
        }
    }
    let headings: Vec<String> = reading.headings.iter().flatten().cloned().collect();
    weigh_tiers(&headings, scores);
    if reading.headings.len() >= 3 {
        scores.add(WorkScope::Large, 35, format!("{} sections", reading.headings.len()));
    }
}

fn weigh_architecture(sentence: &Sentence, scores: &mut ScopeScores) {
    let is_limited = contains_any(&sentence.words, LIMITS);
    for (weight, table) in ARCHITECTURE {
        if let Some((start, len)) = find_any(&sentence.words, table) {
            let words = sentence.words[start..start + len].join(" ");
            let weight = if is_limited { weight / 3 } else { *weight };
            scores.add(WorkScope::Large, weight, format!("the words \"{words}\""));
        }
    }
}

/// Weighs "all services", "every package", "five files".
fn weigh_quantifiers(sentence: &Sentence, scores: &mut ScopeScores) {
    let words = &sentence.words;
    for start in 0..words.len() {
        let Some(len) = match_start(&words[start..], QUANTIFIERS) else { continue };
        let after = &words[start + len..words.len().min(start + len + 3)];
        for (scope, weight, table) in
            [(WorkScope::Large, 65, PARTS), (WorkScope::Medium, 35, INNER_PARTS)]
        {
            if let Some((end, part_len)) = find_any(after, table) {
                let cue = words[start..start + len + end + part_len].join(" ");
                scores.add(scope, weight, format!("the extent \"{cue}\""));
            }
        }
    }
}

fn weigh_tiers(words: &[String], scores: &mut ScopeScores) {
    let tiers = TIERS.iter().filter(|tier| contains_any(words, tier)).count();
    match tiers {
        0 | 1 => {}
        2 => scores.add(WorkScope::Large, 15, "two tiers of the product"),
        _ => scores.add(WorkScope::Large, 60, format!("{tiers} tiers of the product")),
    }
}

fn weigh_migration(sentence: &Sentence, scores: &mut ScopeScores) {
    let Some((start, len)) = find_any(&sentence.words, MIGRATIONS) else { return };
    let rest = &sentence.words[start + len..];
    let moves = contains_any(rest, "to | in | with | into | auf | a | durch | by");
    if moves && contains_any(rest, SYSTEMS) {
        let verb = sentence.words[start..start + len].join(" ");
        let is_limited = contains_any(&sentence.words, LIMITS);
        let (scope, weight) =
            if is_limited { (WorkScope::Medium, 40) } else { (WorkScope::Large, 55) };
        scores.add(scope, weight, format!("the migration \"{verb}\""));
    }
}
