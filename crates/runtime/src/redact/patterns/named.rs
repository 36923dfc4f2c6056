//! Secrets that are known by the name before them.

use super::Pattern;
use crate::redact::rule::{Only, Sort};

/// Ends of names whose value in text is a secret. The last word decides: `db_password=x` is one,
/// `max_tokens=5` is none.
const KEY: &str = "(?:password|passwd|passphrase|passcode|[_-]pass|[_-]pwd|secret|token|api[_-]?key|access[_-]?key|account[_-]?key|secret[_-]?key|private[_-]?key|encryption[_-]?key|signing[_-]?key|auth[_-]?key|master[_-]?key|shared[_-]?key|secret[_-]?key[_-]?base|authorization|credentials?)";

/// Services whose keys have no prefix: the name of the service stands before them.
const SERVICES: &str = "(?:adafruit|adobe|airtable|algolia|alibaba|alicloud|asana|atlassian|confluence|jira|auth0|azure|beamer|bitbucket|bittrex|bitfinex|binance|braintree|bugsnag|cloudflare|cloudinary|codecov|codacy|cohere|coinbase|confluent|consul|contentful|crowdin|datadog|deepgram|discord|droneci|dropbox|elastic|elevenlabs|etsy|facebook|fastly|finicity|finnhub|firebase|flickr|freshbooks|gitter|gitea|gitlab|github|gocardless|heroku|hubspot|intercom|jfrog|jenkins|kraken|kucoin|launchdarkly|linkedin|linode|looker|mailchimp|mailgun|mapbox|mattermost|maxmind|messagebird|mistral|mixpanel|mongodb|neon|netlify|new[_-]?relic|nomad|nytimes|okta|onesignal|openai|openweather|pagerduty|paypal|pinecone|plaid|postmark|pusher|rapidapi|razorpay|rollbar|salesforce|sendbird|sendgrid|sentry|shodan|sidekiq|signalwire|snyk|sonar|sparkpost|splunk|spotify|square|squarespace|stripe|sumologic|telegram|travis|trello|twilio|twitch|twitter|typeform|vercel|virustotal|vonage|vultr|weatherapi|wandb|yandex|zendesk|zoom)";

pub(super) fn patterns() -> Vec<Pattern> {
    let named = |text: String, only| Pattern::new(text, only, Sort::Named);
    vec![
        // "password": "…", in JSON.
        named(format!(r#"(?i)(?:{KEY}|cookie)"\s*:\s*"(?P<secret>(?:[^"\\]|\\.)+)"#), Only::Always),
        // \"password\": \"…\", in JSON inside a string, where an even number of \ ends the string.
        named(
            format!(
                r#"(?i)(?:{KEY}|cookie)\\(?:\\\\)*"\s*:\s*\\(?:\\\\)*"(?P<secret>(?:[^"\\]|\\[^"\\]|\\\\(?:\\\\|\\"|[^"\\]))+)"#
            ),
            Only::Always,
        ),
        // password = "…", in TOML, code and logs.
        named(
            format!(r#"(?i){KEY}["']?\s*(?:=|:=|=>)\s*\\*["'](?P<secret>[^"'\\,:}}\]][^"'\\]*)"#),
            Only::NotAPlaceholder,
        ),
        // password=…, in queries, forms, connection strings and logs.
        named(format!(r#"(?i){KEY}=(?P<secret>[^\s"'\\&,;()=]+)"#), Only::NotAPlaceholder),
        // password = …, in files of settings. Code looks the same, so the value must look random.
        named(
            format!(r#"(?i){KEY}[ \t]*(?:=|:=|=>)[ \t]+(?P<secret>[^\s"'\\&,;()\[\]{{}}<>]{{6,}})"#),
            Only::Random,
        ),
        // …;Pwd=…, in connection strings.
        named(r#"(?i);\s*pwd=(?P<secret>[^\s"'\\&,;()=]+)"#.to_owned(), Only::NotAPlaceholder),
        // password: …, in YAML, headers and messages.
        named(
            format!(
                r#"(?i){KEY}:\s*["'`]?(?P<secret>[^\s"'`\\,;:()<>&}}\]][^\s"'`\\,;()<>&]{{3,}})"#
            ),
            Only::NotAWord,
        ),
        // --password …, in command lines.
        named(
            format!(r#"(?i)--[a-z-]*{KEY}[ =]["']?(?P<secret>[^\s"'\\,:}}\]-][^\s"'\\]{{3,}})"#),
            Only::NotAWord,
        ),
        // <password>…</password>, in XML.
        named(format!(r#"(?i){KEY}>(?P<secret>[^\s<>"'\\]{{4,}})</"#), Only::NotAWord),
        // "The password is …", in prose.
        named(
            r#"(?i)\b(?:password|passwd|passphrase|passcode|pass phrase|secret|token|(?:api|access|secret) key|credentials?)\s+(?:is|was|are|=|-|->)\s*:?\s+["'`]?(?P<secret>[^\s"'`\\,;()<>]{6,})"#
                .to_owned(),
            Only::Random,
        ),
        // STRIPE_KEY=…, in environments.
        named(
            r#"\b[A-Z][A-Z0-9_]*_(?:KEY|AUTH|PAT|CREDS?|PW|SALT|SEED|DSN|SID_KEY|COOKIE)["']?\s*[=:]\s*["'`]?(?P<secret>[A-Za-z0-9_.+/=~-]{12,})"#
                .to_owned(),
            Only::Random,
        ),
        // cloudflare_key: …, for services whose keys have no prefix.
        named(
            format!(
                r#"(?i){SERVICES}[a-z0-9_. -]{{0,24}}\\*["'`]?\s*(?:=|:=|=>|:)\s*\\*["'`]?(?P<secret>[A-Za-z0-9_+/=-]{{16,}})"#
            ),
            Only::Random,
        ),
    ]
}
