//! Secrets identified by their issuer's prefix.

use super::SecretPattern;
use crate::redact::SecretKind::{self, ApiKey, Secret, Token};
use crate::redact::rule::{KindSource, MatchCondition};

/// Prefixes whose secrets share an alphabet and a minimum length.
struct PrefixFamily {
    prefixes: &'static [&'static str],
    alphabet: &'static str,
    least: usize,
    only: MatchCondition,
    kind: SecretKind,
}

pub(super) fn patterns() -> Vec<SecretPattern> {
    PREFIX_FAMILIES
        .iter()
        .map(|family| {
            let prefixes: Vec<_> = family.prefixes.iter().map(|one| regex::escape(one)).collect();
            let (prefixes, least) = (prefixes.join("|"), family.least);
            let text = format!(r"\b(?:{prefixes})(?P<secret>{}{{{least},}})", family.alphabet);
            SecretPattern::new(text, family.only, KindSource::Fixed(family.kind))
        })
        .collect()
}

const PLAIN: &str = "[A-Za-z0-9]";
const URL_SAFE: &str = "[A-Za-z0-9_-]";
const DOTTED: &str = "[A-Za-z0-9_.=+/-]";
const HEX: &str = "[0-9a-f]";

const PREFIX_FAMILIES: [PrefixFamily; 12] = [
    // Model providers.
    PrefixFamily {
        prefixes: &["sk-"],
        alphabet: URL_SAFE,
        least: 16,
        only: MatchCondition::NotAWord,
        kind: ApiKey,
    },
    PrefixFamily {
        prefixes: &[
            "AIza", "hf_", "api_org_", "r8_", "gsk_", "xai-", "pplx-", "nvapi-", "fw_", "tgp_v1_",
            "ABSK",
        ],
        alphabet: URL_SAFE,
        least: 24,
        only: MatchCondition::Random,
        kind: ApiKey,
    },
    // Forges, registries and build services.
    PrefixFamily {
        prefixes: &["ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_"],
        alphabet: "[A-Za-z0-9_]",
        least: 16,
        only: MatchCondition::Always,
        kind: Token,
    },
    PrefixFamily {
        prefixes: &[
            "glpat-",
            "glptt-",
            "gldt-",
            "glrt-",
            "glcbt-",
            "glft-",
            "glsoat-",
            "gloas-",
            "glagent-",
            "glffct-",
            "glimt-",
            "GR1348941",
            "pypi-",
            "ATBB",
            "ATATT3",
            "ATCTT3",
            "sgp_",
            "CCIPAT_",
            "CCIPRJ_",
            "bkua_",
            "pul-",
            "rubygems_",
            "oy2",
            "CLOJARS_",
            "AKCp",
            "cmVmd",
            "sqp_",
            "squ_",
            "sqa_",
            "dckr_pat_",
            "dckr_oat_",
            "npm_",
            "tk-us-",
            "ico-",
            "figd_",
            "jfrt",
        ],
        alphabet: DOTTED,
        least: 16,
        only: MatchCondition::NotAWord,
        kind: Token,
    },
    // Clouds, hosts and databases.
    PrefixFamily {
        prefixes: &[
            "dop_v1_",
            "doo_v1_",
            "dor_v1_",
            "dapi",
            "hvs.",
            "hvb.",
            "hvr.",
            "dp.pt.",
            "dp.st.",
            "dp.ct.",
            "dp.sa.",
            "fo1_",
            "fm1_",
            "fm2_",
            "HRKU-",
            "nfp_",
            "sbp_",
            "sb_secret_",
            "pscale_tkn_",
            "pscale_pw_",
            "pscale_oauth_",
            "ya29.",
            "1//0",
            "GOCSPX-",
            "LTAI",
            "t1.",
            "AQVN",
            "YCAJE",
            "v1.0-",
            "4b1d",
            "pnu_",
            "sha256~",
            "aio_",
            "cf_",
            "vercel_",
            "rw_",
            "dnkey-",
            "doppler_",
            "tskey-auth-",
            "tskey-api-",
            "tskey-client-",
        ],
        alphabet: DOTTED,
        least: 20,
        only: MatchCondition::Random,
        kind: Token,
    },
    // Monitoring and logs.
    PrefixFamily {
        prefixes: &[
            "glsa_", "glc_", "sntrys_", "sntryu_", "NRAK-", "NRII-", "NRJS-", "NRRA-", "NRSP-",
            "phx_", "phc_", "pdus+", "hlx_", "lsv2_pt_", "lsv2_sk_",
        ],
        alphabet: DOTTED,
        least: 16,
        only: MatchCondition::Random,
        kind: Token,
    },
    // Payments and shops.
    PrefixFamily {
        prefixes: &[
            "sk_live_",
            "sk_test_",
            "rk_live_",
            "rk_test_",
            "sk_prod_",
            "whsec_",
            "shpat_",
            "shpca_",
            "shppa_",
            "shpss_",
            "sq0atp-",
            "sq0csp-",
            "EAAA",
            "EAAE",
            "EZAK",
            "EZTK",
            "FLWSECK_TEST-",
            "FLWSECK-",
            "shippo_live_",
            "shippo_test_",
            "duffel_live_",
            "duffel_test_",
            "live_pub_",
            "test_pub_",
            "pk_prod_",
        ],
        alphabet: URL_SAFE,
        least: 16,
        only: MatchCondition::NotAWord,
        kind: ApiKey,
    },
    // Mail, chats and office.
    PrefixFamily {
        prefixes: &["xkeysib-", "xsmtpsib-", "key-", "re_", "mlsn.", "md-"],
        alphabet: DOTTED,
        least: 24,
        only: MatchCondition::Random,
        kind: ApiKey,
    },
    PrefixFamily {
        prefixes: &[
            "xoxa-", "xoxb-", "xoxe-", "xoxe.", "xoxo-", "xoxp-", "xoxr-", "xoxs-", "xapp-",
            "xoxc-", "xoxd-",
        ],
        alphabet: "[A-Za-z0-9.%-]",
        least: 10,
        only: MatchCondition::Always,
        kind: Token,
    },
    PrefixFamily {
        prefixes: &[
            "lin_api_",
            "lin_oauth_",
            "ntn_",
            "secret_",
            "pat-na1-",
            "pat-eu1-",
            "PMAK-",
            "tfp_",
            "rdme_",
            "sm_aat_",
            "sm_pat_",
            "CFPAT-",
            "fio-u-",
            "ops_",
            "p8e-",
            "s-s4t2ud-",
            "s-s4t2af-",
            "API-",
            "EAA",
            "sk.eyJ",
            "pat.",
            "dG9rOg",
            "patk_",
            "AAAAAAAAAAAAAAAAAAAAA",
        ],
        alphabet: "[A-Za-z0-9_.=+/%-]",
        least: 24,
        only: MatchCondition::Random,
        kind: Token,
    },
    PrefixFamily {
        prefixes: &["SK"],
        alphabet: HEX,
        least: 32,
        only: MatchCondition::Always,
        kind: ApiKey,
    },
    PrefixFamily {
        prefixes: &["AKID"],
        alphabet: PLAIN,
        least: 32,
        only: MatchCondition::Always,
        kind: Secret,
    },
];
