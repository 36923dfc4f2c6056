//! Secrets in arguments of command lines.

use super::SecretPattern;
use crate::redact::SecretKind::{Password, Token};
use crate::redact::rule::{KindSource, MatchCondition};

pub(super) fn patterns() -> Vec<SecretPattern> {
    let password = |text: &str| {
        SecretPattern::new(text, MatchCondition::NotAPlaceholder, KindSource::Fixed(Password))
    };
    vec![
        // curl -u user:…, also joined with the option.
        password(
            r#"(?i)\b(?:curl|http|https|wget)\b[^\n|;]*?\s(?:-u|--user|--proxy-user|-U|-a)[ =]?["']?[^\s"'\\:]+:(?P<secret>[^\s"'\\]{3,})"#,
        ),
        // mysql -p…, without a space in between.
        password(
            r#"\b(?:mysql|mysqldump|mysqladmin|mysqlimport|mariadb|mariadb-dump|7z[ar]?)\b[^\n|;]*?\s-p(?P<secret>[^\s"'\\]{3,})"#,
        ),
        // sshpass -p …, docker login -p …
        password(
            r#"\b(?:sshpass|(?:docker|podman|helm registry|az) login|mongo(?:sh|dump|restore)?|zip|unzip|ipmitool)\b[^\n|;]*?\s-[pP] ?["']?(?P<secret>[^\s"'\\-][^\s"'\\]{2,})"#,
        ),
        password(r#"\bredis-cli\b[^\n|;]*?\s-a ["']?(?P<secret>[^\s"'\\]{3,})"#),
        password(
            r#"\bldap(?:search|add|modify|whoami)\b[^\n|;]*?\s-w ["']?(?P<secret>[^\s"'\\]{3,})"#,
        ),
        password(
            r#"\b(?:smbclient|rpcclient|mount\.cifs)\b[^\n|;]*?\s-U ["']?[^\s"'\\%]+%(?P<secret>[^\s"'\\]{3,})"#,
        ),
        password(
            r#"\bhtpasswd\b[^\n|;]*?\s-[a-zA-Z]*b[a-zA-Z]* +\S+ +\S+ +["']?(?P<secret>[^\s"'\\]{3,})"#,
        ),
        // openssl … -passin pass:…
        password(r#"\s-pass(?:in|out)?[ =]["']?pass:(?P<secret>[^\s"'\\]{3,})"#),
        // A line of .netrc.
        password(r#"\blogin\s+[^\s"'\\]+\s+password\s+(?P<secret>[^\s"'\\]{3,})"#),
        // echo … | docker login --password-stdin, and its like.
        SecretPattern::new(
            r#"\b(?:echo|printf)\s+(?:-n\s+)?["']?(?P<secret>[^\s"'\\|]{12,})["']?\s*\|\s*[^\n]*--(?:password|token)-stdin"#,
            MatchCondition::Random,
            KindSource::Fixed(Token),
        ),
    ]
}
