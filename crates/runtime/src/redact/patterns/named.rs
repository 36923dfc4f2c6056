//! Secrets identified by the name before them.

use super::SecretPattern;
use crate::redact::rule::{KindSource, MatchCondition};

/// Suffixes of names whose value is a secret: `db_password=x` matches, `max_tokens=5` does not.
const KEY: &str = "(?:password|passwd|passphrase|passcode|[_-]pass|[_-]pwd|secret|token|api[_-]?key|access[_-]?key|account[_-]?key|secret[_-]?key|private[_-]?key|encryption[_-]?key|signing[_-]?key|auth[_-]?key|master[_-]?key|shared[_-]?key|secret[_-]?key[_-]?base|authorization|credentials?)";

/// Services whose keys have no prefix: the service's name precedes them.
const SERVICES: &str = "(?:adafruit|adobe|airtable|algolia|alibaba|alicloud|asana|atlassian|confluence|jira|auth0|azure|beamer|bitbucket|bittrex|bitfinex|binance|braintree|bugsnag|cloudflare|cloudinary|codecov|codacy|cohere|coinbase|confluent|consul|contentful|crowdin|datadog|deepgram|discord|droneci|dropbox|elastic|elevenlabs|etsy|facebook|fastly|finicity|finnhub|firebase|flickr|freshbooks|gitter|gitea|gitlab|github|gocardless|heroku|hubspot|intercom|jfrog|jenkins|kraken|kucoin|launchdarkly|linkedin|linode|looker|mailchimp|mailgun|mapbox|mattermost|maxmind|messagebird|mistral|mixpanel|mongodb|neon|netlify|new[_-]?relic|nomad|nytimes|okta|onesignal|openai|openweather|pagerduty|paypal|pinecone|plaid|postmark|pusher|rapidapi|razorpay|rollbar|salesforce|sendbird|sendgrid|sentry|shodan|sidekiq|signalwire|snyk|sonar|sparkpost|splunk|spotify|square|squarespace|stripe|sumologic|telegram|travis|trello|twilio|twitch|twitter|typeform|vercel|virustotal|vonage|vultr|weatherapi|wandb|yandex|zendesk|zoom)";

pub(super) fn patterns() -> Vec<SecretPattern> {
    let named = |text: String, only| SecretPattern::new(text, only, KindSource::ByName);
    vec![
        // "password": "…", in JSON.
        named(format!(r#"(?i)(?:{KEY}|cookie)"\s*:\s*"(?P<secret>(?:[^"\\]|\\.)+)"#), MatchCondition::Always),
        // \"password\": \"…\", in JSON inside a string, where an even number of \ ends the string.
        named(
            format!(
                r#"(?i)(?:{KEY}|cookie)\\(?:\\\\)*"\s*:\s*\\(?:\\\\)*"(?P<secret>(?:[^"\\]|\\[^"\\]|\\\\(?:\\\\|\\"|[^"\\]))+)"#
            ),
            MatchCondition::Always,
        ),
        // password = "…", in TOML, code and logs.
        named(
            format!(r#"(?i){KEY}["']?\s*(?:=|:=|=>)\s*\\*["'](?P<secret>[^"'\\,:}}\]][^"'\\]*)"#),
            MatchCondition::NotAPlaceholder,
        ),
        // password=…, in queries, forms, connection strings and logs.
        named(format!(r#"(?i){KEY}=(?P<secret>[^\s"'\\&,;()=]+)"#), MatchCondition::NotAPlaceholder),
        // password = …, in configuration files. Code looks the same, so the value must look random.
        named(
            format!(r#"(?i){KEY}[ \t]*(?:=|:=|=>)[ \t]+(?P<secret>[^\s"'\\&,;()\[\]{{}}<>]{{6,}})"#),
            MatchCondition::Random,
        ),
        // …;Pwd=…, in connection strings.
        named(r#"(?i);\s*pwd=(?P<secret>[^\s"'\\&,;()=]+)"#.to_owned(), MatchCondition::NotAPlaceholder),
        // password: …, in YAML, headers and messages.
        named(
            format!(
                r#"(?i){KEY}:\s*["'`]?(?P<secret>[^\s"'`\\,;:()<>&}}\]][^\s"'`\\,;()<>&]{{3,}})"#
            ),
            MatchCondition::NotAWord,
        ),
        // --password …, in command lines.
        named(
            format!(r#"(?i)--[a-z-]*{KEY}[ =]["']?(?P<secret>[^\s"'\\,:}}\]-][^\s"'\\]{{3,}})"#),
            MatchCondition::NotAWord,
        ),
        // <password>…</password>, in XML.
        named(format!(r#"(?i){KEY}>(?P<secret>[^\s<>"'\\]{{4,}})</"#), MatchCondition::NotAWord),
        // "The password is …", in prose.
        named(
            r#"(?i)\b(?:password|passwd|passphrase|passcode|pass phrase|secret|token|(?:api|access|secret) key|credentials?)\s+(?:is|was|are|=|-|->)\s*:?\s+["'`]?(?P<secret>[^\s"'`\\,;()<>]{6,})"#
                .to_owned(),
            MatchCondition::Random,
        ),
        // STRIPE_KEY=…, in environments.
        named(
            r#"\b[A-Z][A-Z0-9_]*_(?:KEY|AUTH|PAT|CREDS?|PW|SALT|SEED|DSN|SID_KEY|COOKIE)["']?\s*[=:]\s*["'`]?(?P<secret>[A-Za-z0-9_.+/=~-]{12,})"#
                .to_owned(),
            MatchCondition::Random,
        ),
        // cloudflare_key: …, for services whose keys have no prefix.
        named(
            format!(
                r#"(?i){SERVICES}[a-z0-9_. -]{{0,24}}\\*["'`]?\s*(?:=|:=|=>|:)\s*\\*["'`]?(?P<secret>[A-Za-z0-9_+/=-]{{16,}})"#
            ),
            MatchCondition::Random,
        ),
    ]
}
