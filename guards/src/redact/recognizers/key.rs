//! Keys and tokens of services, and private keys.

use crate::redact::Pattern;

/// The forms of keys, each with the service that issues it. Each begins with a text that seldom begins anything else.
const FORMS: [&str; 19] = [
    // OpenAI, Anthropic, OpenRouter and others
    r"sk-[A-Za-z0-9_\-]{20,200}",
    // GitHub
    r"gh[pousr]_[A-Za-z0-9]{36,255}",
    r"github_pat_[A-Za-z0-9_]{22,255}",
    // GitLab
    r"glpat-[A-Za-z0-9_\-]{20,64}",
    // Amazon Web Services
    r"(?:AKIA|ASIA|AROA|AIDA)[A-Z0-9]{16}",
    // Google
    r"AIza[A-Za-z0-9_\-]{35}",
    r"ya29\.[A-Za-z0-9_\-]{20,512}",
    r"GOCSPX-[A-Za-z0-9_\-]{28}",
    // Slack
    r"xox[abeoprs]-[A-Za-z0-9\-]{10,250}",
    r"https://hooks\.slack\.com/services/[A-Za-z0-9/]{20,80}",
    // Stripe
    r"[prs]k_(?:live|test)_[A-Za-z0-9]{16,247}",
    r"whsec_[A-Za-z0-9]{32,64}",
    // Hugging Face
    r"hf_[A-Za-z0-9]{30,64}",
    // npm, PyPI and crates.io
    r"npm_[A-Za-z0-9]{36}",
    r"pypi-[A-Za-z0-9_\-]{50,255}",
    r"cio[A-Za-z0-9]{32}",
    // SendGrid
    r"SG\.[A-Za-z0-9_\-]{16,32}\.[A-Za-z0-9_\-]{30,64}",
    // JSON web tokens. What follows the limit is of no use without the beginning.
    r"eyJ[A-Za-z0-9_\-]{10,256}\.eyJ[A-Za-z0-9_.\-]{10,1792}",
    // Private keys in PEM, also unfinished ones, and with escaped line ends
    concat!(
        r"-----BEGIN (?:[A-Z]{1,16} ){0,3}PRIVATE KEY-----",
        r"(?:[\r\n]{1,2}(?:Proc-Type|DEK-Info): [A-Za-z0-9,\-]{1,80}){0,2}",
        r"[A-Za-z0-9+/=\\ \r\n]{1,8192}(?:-----END (?:[A-Z]{1,16} ){0,3}PRIVATE KEY-----)?",
    ),
];

/// Returns the recognizer of keys and tokens of well-known services, JSON web tokens, and private keys.
///
/// ```
/// use alloquy_guards::redact::{Redactor, recognizers};
///
/// let redactor = Redactor::new([recognizers::key()])?;
/// assert_eq!(redactor.redact("export KEY=sk-abcdefghijklmnopqrstuv")?, "export KEY=[key]");
/// assert_eq!(redactor.redact("a sk-etch")?, "a sk-etch");
/// # Ok::<(), alloquy_core::Error>(())
/// ```
pub fn key() -> Pattern {
    Pattern::new("key", FORMS.join("|")).checked(is_key)
}

/// A key does not begin within a word, and one of letters alone is a name such as `sk-learn-compatible-estimators`.
fn is_key(before: Option<char>, found: &str) -> Option<usize> {
    let is_within = before.is_some_and(char::is_alphanumeric);
    let has_words_only = found.starts_with("sk-") && found.split(['-', '_']).all(is_word);
    (!is_within && !has_words_only).then_some(found.len())
}

fn is_word(text: &str) -> bool {
    text.len() <= 14 && text.chars().all(|character| character.is_ascii_lowercase())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::redact::recognizers::check;

    #[test]
    fn keys_are_found_and_other_texts_are_not() {
        let (a36, jwt) = ("aB3dE6gH9".repeat(4), "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NSJ9.c2lnbmF0dXJlLXg");
        let pem = "-----BEGIN RSA PRIVATE KEY-----\nMIIBOgIBAAJBAK\nx+/=\n-----END RSA PRIVATE KEY-----";
        let made = [
            format!("sk-proj-{a36}"),
            format!("sk-ant-api03-{a36}"),
            format!("ghp_{a36}"),
            format!("github_pat_{a36}"),
            format!("glpat-{}", "x1-Y_".repeat(4)),
            format!("hf_{a36}"),
            format!("npm_{a36}"),
            format!("sk_live_{a36}"),
            format!("AIza{}", &a36[..35]),
        ];
        let mut found = vec!["AKIAIOSFODNN7EXAMPLE", "xoxb-123456789012-abcDEF", jwt, pem];
        found.extend(made.iter().map(String::as_str));
        let not_found = [
            "sk-learn",
            "sk-learn-compatible-estimators-of-trees",
            "ghp_short",
            "AKIA",
            "task-abcdefghijklmnopqrstuvwxyz1",
            "eyJ is how JSON begins in base64",
            "-----BEGIN PUBLIC KEY-----\nMIIB\n-----END PUBLIC KEY-----",
            "hf_hub_download",
        ];
        check(key, &found, &not_found);
    }
}
