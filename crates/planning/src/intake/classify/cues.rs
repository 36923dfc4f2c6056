//! The tables of cues for the kind of a submission. Weights are tenths: 10 is a weak cue, 50 a strong one.

use cynode_domain::work_kind::WorkKind::{self, FeatureRequest, NewProject, QuickFix};

/// Labels of forge issues.
pub(super) const LABELS: &[(WorkKind, i32, &str)] = &[
    (QuickFix, 60, "bug | bugs | defect | regression | crash | hotfix | bugfix | incident"),
    (
        FeatureRequest,
        60,
        "enhancement | feature | feature request | improvement | epic | rfc | proposal",
    ),
    (FeatureRequest, 30, "dependencies | refactor* | tech debt | chore"),
    (QuickFix, 10, "security | vulnerability"),
    (NewProject, 60, "new project | greenfield"),
];

/// Prefixes of titles.
pub(super) const PREFIXES: &[(WorkKind, i32, &str)] = &[
    (QuickFix, 60, "fix | bugfix | bug | hotfix | regression | crash | bug report | revert"),
    (
        FeatureRequest,
        60,
        "feat | feature | enhancement | proposal | request | feature request | epic | rfc | user story",
    ),
    (FeatureRequest, 50, "refactor | perf | test | tests | ci | build | style"),
    (FeatureRequest, 20, "docs | doc | chore | idea"),
    (QuickFix, 15, "security"),
];

/// Openings of requests, which are skipped; the longest of two with the same start comes first.
pub(super) const OPENINGS: &str = "could you please | can you please | would you please | \
    could you | can you | would you | could someone please | could someone | can someone | \
    i want you to | i would like you to | i'd like you to | i would like to | i'd like to | \
    we would like to | we'd like to | i want to | we want to | i need to | we need to | \
    we should | you should | let's | lets | please | pls | plz | hey | hi | hello | ok | okay | so | \
    basically | quick one | , | also | just | and | then | \
    bitte | kannst du bitte | kannst du | könntest du bitte | könntest du | könnt ihr bitte | \
    könnt ihr | wir wollen | wir möchten | pourriez vous | pouvez vous | peux tu | pourrais tu | \
    s'il vous plaît | merci de | por favor | podrías | puedes | podéis | podrían | queremos | \
    in _ namex | in the footer";

/// Verbs at the start of a clause that ask for a correction.
pub(super) const FIX_VERBS: &str = "fix | fixes | fixing | repair | correct | resolve | hotfix | patch | \
    debug | revert | troubleshoot | investigate why | investigate | look into why | find out why | \
    check why | figure out why | unbreak | restore | hotfix needed | quick fix | repariere | behebe | \
    behebt | korrigiere | corrige | corriger | corrigez | arregla | arreglar | répare | réparer";

/// Verbs at the start of a clause that ask for an addition: the words after them describe what is wanted, also if they are
/// words of defects.
pub(super) const ADD_VERBS: &str = "add | implement | support | allow | let | enable | show | display | \
    introduce | provide | extend | integrate | offer | include | permit | accept | expose | \
    print | send | log | warn | highlight | notify | remember | validate | enforce | mask | \
    redirect | sort | document | explain | write | create | build | set up | setup | make it | \
    have | give | grey out | handle | improve | enhance | expand | design | develop | \
    adopt | unify | put | wrap | cache | batch | cover | keep | render | pin | sign | import | export | \
    füge | fügt | baut | baue | ergänze | ergänzt | erlaube | zeige | ajoute | ajouter | ajoutez | \
    permettre | añade | añadir | agrega | agregar | permite | permitir | implementar | \
    hinzufügen | internationali* | generate | link | track | record | schedule | collect | report | locali* | translate | detect | measure | \
    prompt | ask | suggest | autocomplete | auto | play | open | preserve | persist | store | save | load | filter | \
    search | mirror | sync | quisiera";

/// Verbs at the start of a clause that ask for a change; a defect in the same clause may be its cause.
pub(super) const CHANGE_VERBS: &str = "change | rename | remove | delete | replace | use | set | increase | \
    raise | lower | reduce | decrease | bump | upgrade | update | move | migrate | convert | split | \
    refactor | extract | rewrite | redesign | rework | restructure | reorganise | reorganize | port | \
    switch | turn | turn on | turn off | disable | deprecate | drop | default | swap | hide | \
    simplify | clean up | cleanup | speed up | optimise | optimize | format | ignore | skip | don't | do not | stop | \
    tag | exclude | include | pull out | modulari* | group | reorder | align | center | prefer | respect | \
    treat | compress | encrypt | bundle | rotate | retry | throttle | debounce | lazy load | preload | \
    break up | break down | break apart | roll out | deduplicate | dedupe | normalise | normalize | consolidate | decouple | isolate | separate | trim | round | \
    make | avoid | limit | restrict | merge | inline | bring | setze | ändere | \
    ersetze | changez | remplace | remplacer | supprime | cambia | cambiar | migrar | reemplaza | \
    elimina | no more | rewrite | reuse | pass | run | start | call | get rid";

/// Objects of a verb that make it a correction: "add a fix for".
pub(super) const FIX_OBJECTS: &str = "a fix | a hotfix | a bugfix | a bug fix | a workaround for | fix for | \
    fixes for | a patch for";
/// Forms of a fix verb that are no correction.
pub(super) const NO_FIX: &str =
    "fix up | correct handling | patch version | patch release | fix version";

/// Wishes anywhere in a sentence.
pub(super) const WISHES: &[(i32, &str)] = &[
    (
        45,
        "it'd be | would be nice | would be great | would be cool | would be helpful | would be useful | \
         would be practical | would be really | would be awesome | would be good | i'd love | \
         i would love | we'd love | would love | let me | let us | let users | let people | \
         ability to | option to | support for | possible to | possibility to | be able to | a way to | \
         feature request | as a _ i want | as an _ i want | i want to | could we | can we have | \
         can we get | can i have | may we | what about | how about | wäre schön | wäre toll | \
         wäre praktisch | wäre gut | wäre hilfreich | il faudrait | on aimerait | j'aimerais | \
         estaría bien | sería | me gustaría | nos gustaría | quisiera | wenn man | s'il vous plaît | i wish | wishlist item | so that i | \
         hinzufügen | einbauen | ergänzen | bauen | erstellen | entwickeln | anlegen | add support | new feature | add an option",
    ),
    (
        25,
        "i'd like | we'd like | i would like | we would like | i want | we want | we need | i need | \
         wish | need | want | wants | soll | sollen | sollte | sollten | möchte | möchten | \
         devrait | doit | debería | necesitamos | necesito | queremos | thinking | \
         we're moving | we are moving | allow* | proposal | must | shall | it should | \
         no way to | should have | should also | should not | should show | should remember | should go | \
         should support | should get | should use | should become | should work | feature",
    ),
    (15, "should | instead of failing | configurable | from now on | optional* | more than one"),
];

/// Words of defects, outside of what a request for an addition describes.
pub(super) const DEFECTS: &[(i32, &str)] = &[
    (
        45,
        "crash* | segfault* | segmentation fault | panic | panics | panicked | nullpointer* | \
         traceback | deadlock* | race condition | memory leak* | infinite loop | regression | \
         data loss | does not work | doesn't work | don't work | do not work | not work | not working | not responding | \
         no response | stopped working | \
         does nothing | nothing happens | typo | typos | misspell* | spelling | spelling mistake | \
         vulnerab* | cve | xss | sql injection | csrf | bug | bugs | fails | is broken | broken | \
         off by one | rounding error | flaky | stack overflow | out of bounds | \
         funktioniert nicht | funktionieren nicht | geht nicht | stürzt | absturz | fehlermeldung | \
         tippfehler | kaputt | fehler | beheben | reparieren | plante | ne fonctionne pas | ne marche pas | faute de frappe | no funciona | \
         no carga | no abre | no aparece | no se | no puedo | no llega | n'apparaît pas | ne s'affiche pas | se cierra | errata | freezes | freeze | frozen | hangs | hotfix | dead link | link is dead | is dead | \
         namex → namex | is spelled | is misspelled | undefined reference | unhandled exception | uncaught | typeerror | misspelt | s _ _ in | \
         da un error | da error | erreur | fehlt | exception | undefined",
    ),
    (
        30,
        "wrong | wrongly | incorrect* | twice | lost | loses | disappear* | ignored | ignores | failed | failing | \
         fail | stuck | times out | time out | timed out | unreadable | overlap* | cut off | cuts off | \
         upside down | outdated | stale | mistake | off by | slow | sluggish | janky | laggy | \
         takes more than | takes forever | unexpected* | rejected | stopped | greyed out | \
         doesn't | does not | isn't | is not | aren't | won't | can't | cannot | can not | cant | unable | \
         not able | never | no longer | any more | anymore | is missing | are missing | missing | leak* | \
         invalid | error # | http # | a # error | error when | an error | throws | corrupt* | \
         stray | duplicated | no effect | goes black | falsch | falsche | nicht mehr | error | errors | \
         bypass* | injection | plain text | security hole | insecure | without bound | race | loops | refuses | \
         complains | is red | breaks | break the | break | broke | is gone | are gone | garbage | orphaned | wait forever | forever | no results | no such | nothing shows | \
         gets # | get a # | a 404 | a 500 | a 403 | 500 on | 403 for | 404 on | swapped | leaves | \
         not responsive | glitch* | reappear* | failure | failures | intermittent* | overshoots | exhausted | backwards | climbs | steadily | getting a | getting an | getting the | keine | kein | hidden behind | verloren | nicht | ne _ plus | ne _ pas | unresponsive | unusable | malformed | misleading | confusing | inconsistent* | inaccessible | not | nothing | annoying | alphabetical | keeps asking | jumps | flicker* | drifts | mangled | garbled | falls through | upside | deletes the | \
         leer | inversé | vacío | doppelt | lent | langsam | lento | signed out | logged out | different results | mislead* | skew",
    ),
    (
        15,
        "since the update | since version | since yesterday | since monday | since tuesday | since | \
         after upgrading | after the update | after merge | after updating | it worked | worked before | \
         used to work | instead of | although | even though | even if | happens every | every time | \
         expected | expect | says | still | only | out of date | problem | issue | why does | why is | \
         why do | why are | warum | pourquoi | too | should be | should point | should read | should say | late | by accident | keep getting | keeps getting | differently | on certain | seulement | statt",
    ),
];

/// Compounds with words of defects that are things, not defects.
pub(super) const NEUTRAL: &str = "error message* | error page* | error report* | error handling | \
    error branch* | error code* | error log* | error state* | error type* | bug report* | bug tracker* | \
    bug tracking | report a bug | crash report* | issue tracker | wrong password* | failed attempt* | \
    failed login* | failed deliver* | failed test run* | failed phase | failed job* | failed run* | \
    payment failed | broken down | missing value* | invalid input | not only | bug bash | \
    fail fast | or fails | fails or | failed payment* | finishes or fails | undo and redo | \
    broken link checker | dead code | duplicate photo* | slow quer* log";

/// Words before a wish that turn it into a defect: "does not allow".
pub(super) const UNFULFILLED: &str =
    "not | doesn't | don't | can't | cannot | won't | isn't | no | didn't | never | unable";

/// Words before a word of a defect that negate it.
pub(super) const NEGATIONS: &str = "without | no | not a | not an | isn't a | instead of | avoid | prevent | \
    never | rather than";

/// Verbs in the third person: a sentence with one states a fact, as reports of defects do.
pub(super) const STATEMENTS: &str = "is | are | was | were | am | gets | get | got | shows | returns | appears | keeps | keep | \
    takes | goes | comes | arrives | arrive | closes | opens | prints | writes | reads | reports | says | \
    suggests | counts | exits | runs | covers | drops | displays | jumps | skips | adds | uses | \
    has | had | have been | leads | logs | creates | deletes | overwrites | sends | uploads | becomes | \
    stays | starts | ends | causes | cause | results in | renders | moves | works | worked | happens | happened | \
    contains | includes | grows | process | reloads | plays | playing | clears | resets | stops | \
    removes | assumes | claims | depends | falls | drifts | triggers | points | mentions | makes | gives | \
    breaks | turns | hides | lets | accepts | allows | asks | blocks | calls | changes | chooses | converts | \
    copies | cuts | detects | disables | doubles | downloads | eats | enters | escapes | exceeds | exports | \
    expires | fetches | fills | finds | fires | flashes | follows | forgets | generates | grabs | guesses | \
    hits | imports | inserts | interprets | invalidates | kills | lands | launches | leaks | lies | lists | \
    loads | locks | looks | mangles | marks | matches | merges | misses | needs two | occurs | omits | overflows | \
    parses | passes | pauses | picks | produces | pushes | puts | raises | reappears | receives | redirects | \
    registers | rejects | remains | repeats | replaces | requests | requires two | restarts | rotates | rounds | \
    saves | scrolls | selects | sets | shifts | shrinks | sorts | spins | splits | starves | steals | stores | \
    strips | submits | swallows | swaps | switches | syncs | tells | throws | treats | tries | trims | truncates | \
    undoes | unlocks | updates | vanishes | waits | wipes | wraps | yields | went | came | \
    answers | ist | sind | wird | gehen | werden | kommt | druckt | zeigt | öffnet | bleibt | lädt | springt | verschwindet | \
    est | sont | affiche | reste | es | está | muestra | sale | aparece | tarda | pierde";
