//! The files of a repository, as the Hub lists them.

use serde::Deserialize;

use crate::repository::Repository;

/// The files of a repository at one commit, and what people should know before they fetch them.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Listing {
    /// The repository, by the name that was requested. The Hub may have renamed it since.
    pub repository: Repository,
    /// The commit, 40 hexadecimal digits.
    pub commit: String,
    /// The files, sorted by path.
    pub files: Vec<HubFile>,
    /// The licence that the model card names, such as `apache-2.0`.
    pub licence: Option<String>,
    /// Whether people must accept conditions before they may fetch the files.
    pub is_gated: bool,
}

/// A file of a repository. [`Listing::new`] has an example.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HubFile {
    /// Its path in the repository, with `/` between folders.
    pub path: String,
    /// Its size in bytes.
    pub bytes: u64,
    /// The digest of its content.
    pub digest: FileDigest,
}

/// The digest of a file, in hexadecimal digits. It is the name of the file in the cache, and part of a [`Listing`].
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum FileDigest {
    /// SHA-256 of the content, for files in large file storage.
    Sha256(String),
    /// The identifier of git, for files in the repository itself: SHA-1 of a header and the content.
    Git(String),
}

impl FileDigest {
    /// Returns the hexadecimal digits.
    pub fn as_str(&self) -> &str {
        match self {
            Self::Sha256(digits) | Self::Git(digits) => digits,
        }
    }
}

/// The answer of `/api/models/REPOSITORY/revision/REVISION?blobs=true`, as far as it is used.
#[derive(Debug, Deserialize)]
struct Answer {
    id: String,
    sha: String,
    #[serde(default)]
    gated: Gated,
    #[serde(default, rename = "cardData")]
    card: Option<Card>,
    #[serde(default)]
    siblings: Vec<Sibling>,
}

/// `false`, `"auto"` or `"manual"`.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum Gated {
    Flag(bool),
    Kind(serde::de::IgnoredAny),
}

impl Default for Gated {
    fn default() -> Self {
        Self::Flag(false)
    }
}

/// The head of a model card, which authors write by hand: anything may be in it.
#[derive(Debug, Deserialize)]
struct Card {
    #[serde(default)]
    license: serde_json::Value,
    #[serde(default)]
    license_name: serde_json::Value,
}

#[derive(Debug, Deserialize)]
struct Sibling {
    rfilename: String,
    size: Option<u64>,
    #[serde(rename = "blobId")]
    blob: Option<String>,
    lfs: Option<Lfs>,
}

#[derive(Debug, Deserialize)]
struct Lfs {
    sha256: String,
    size: u64,
}

impl HubFile {
    /// Creates a file whose content is not known, for lists that do not come from a Hub.
    pub fn new(path: impl Into<String>, bytes: u64) -> Self {
        Self { path: path.into(), bytes, digest: FileDigest::Git(String::new()) }
    }
}

impl Listing {
    /// Creates a list that does not come from a Hub: [`variants`](crate::variants) and [`choose`](crate::choose) read it.
    ///
    /// ```
    /// use alloquy_hub::{HubFile, Listing, variants};
    ///
    /// let files = ["tokenizer.json", "onnx/model_q4.onnx"].map(|path| HubFile::new(path, 100)).to_vec();
    /// let listing = Listing::new("tiny/model".parse()?, files);
    /// assert_eq!(variants(&listing)[0].name, "q4");
    /// # Ok::<(), alloquy_hub::HubError>(())
    /// ```
    pub fn new(repository: Repository, mut files: Vec<HubFile>) -> Self {
        files.sort_by(|first, second| first.path.cmp(&second.path));
        Self { repository, commit: String::new(), files, licence: None, is_gated: false }
    }

    /// Reads the answer of the Hub. The error says what is wrong with it.
    pub(crate) fn read(json: &str) -> Result<Self, String> {
        let answer: Answer = serde_json::from_str(json).map_err(|error| error.to_string())?;
        if !is_hex(&answer.sha, 40) {
            return Err(format!("its commit is {:?}", answer.sha));
        }
        let repository = answer.id.parse().map_err(|_| format!("its name is {:?}", answer.id))?;
        let mut files = Vec::with_capacity(answer.siblings.len());
        for sibling in answer.siblings {
            files.push(file(sibling)?);
        }
        files.sort_by(|first, second| first.path.cmp(&second.path));
        let is_gated = match answer.gated {
            Gated::Flag(is_gated) => is_gated,
            Gated::Kind(_) => true,
        };
        let licence = answer.card.and_then(|card| licence(&card));
        Ok(Self { repository, commit: answer.sha, files, licence, is_gated })
    }

    /// Returns the file at a path.
    pub fn file(&self, path: &str) -> Option<&HubFile> {
        self.files.iter().find(|file| file.path == path)
    }
}

/// Checks a file. Its path becomes a path of the cache, and so does its digest.
fn file(sibling: Sibling) -> Result<HubFile, String> {
    let path = sibling.rfilename;
    if !is_inside(&path) {
        return Err(format!("it names a file {path:?}, which leads out of the repository"));
    }
    let listed = match (sibling.lfs, sibling.blob, sibling.size) {
        (Some(lfs), ..) => Some((lfs.size, FileDigest::Sha256(lfs.sha256), 64)),
        (None, Some(blob), Some(bytes)) => Some((bytes, FileDigest::Git(blob), 40)),
        _ => None,
    };
    let Some((bytes, digest, digits)) = listed else {
        return Err(format!("it has neither the size nor the digest of {path:?}"));
    };
    if !is_hex(digest.as_str(), digits) {
        return Err(format!("the digest of {path:?} is {:?}", digest.as_str()));
    }
    Ok(HubFile { path, bytes, digest })
}

/// Returns whether a path goes downwards on every system.
fn is_inside(path: &str) -> bool {
    let is_name = |name: &str| !name.is_empty() && name != "." && name != "..";
    path.split('/').all(is_name) && !path.contains(['\\', ':', '\0'])
}

fn is_hex(text: &str, digits: usize) -> bool {
    text.len() == digits && text.bytes().all(|byte| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte))
}

/// Returns the licence; for one that the Hub does not know, the name that the authors give it.
fn licence(card: &Card) -> Option<String> {
    let name = card.license_name.as_str().filter(|_| card.license.as_str() == Some("other"));
    name.or(card.license.as_str()).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    const COMMIT: &str = "0123456789abcdef0123456789abcdef01234567";

    fn read(files: &str) -> Result<Listing, String> {
        Listing::read(&format!(
            r#"{{"id": "a/b", "sha": "{COMMIT}", "gated": "auto", "siblings": [{files}]}}"#
        ))
    }

    #[test]
    fn files_have_sizes_and_digests() {
        let sha256 = "ab".repeat(32);
        let listing = read(&format!(
            r#"{{"rfilename": "onnx/model.onnx", "size": 130, "blobId": "{COMMIT}", "lfs": {{"sha256": "{sha256}", "size": 5000, "pointerSize": 130}}}},
               {{"rfilename": "config.json", "size": 12, "blobId": "{COMMIT}"}}"#
        ))
        .unwrap();
        assert!(listing.is_gated);
        assert_eq!(listing.file("onnx/model.onnx").unwrap().bytes, 5000);
        assert_eq!(listing.file("onnx/model.onnx").unwrap().digest, FileDigest::Sha256(sha256));
        assert_eq!(listing.file("config.json").unwrap().digest, FileDigest::Git(COMMIT.to_owned()));
        assert_eq!(listing.files[0].path, "config.json");
    }

    #[test]
    fn what_could_lead_out_of_the_cache_is_refused() {
        for path in ["../x", "/etc/passwd", "a/../../b", "a//b", "a\\b", "C:x", "", "a/."] {
            let path = serde_json::to_string(path).unwrap();
            let file = format!(r#"{{"rfilename": {path}, "size": 1, "blobId": "{COMMIT}"}}"#);
            assert!(read(&file).unwrap_err().contains("leads out"), "{path}");
        }
        for digest in ["../../x", "ABCDEF", ""] {
            let file = format!(r#"{{"rfilename": "x", "size": 1, "blobId": "{digest}"}}"#);
            assert!(read(&file).unwrap_err().contains("digest"), "{digest}");
        }
        assert!(Listing::read(r#"{"id": "a/b", "sha": "main"}"#).unwrap_err().contains("commit"));
    }

    #[test]
    fn a_licence_of_the_authors_own_has_their_name() {
        let of = |card: &str| {
            let json = format!(r#"{{"id": "a/b", "sha": "{COMMIT}", "cardData": {card}}}"#);
            Listing::read(&json).unwrap().licence
        };
        assert_eq!(of(r#"{"license": "apache-2.0"}"#).as_deref(), Some("apache-2.0"));
        assert_eq!(of(r#"{"license": "other", "license_name": "gemma"}"#).as_deref(), Some("gemma"));
        assert_eq!(of(r#"{"license": ["mit", "x"]}"#), None);
        assert_eq!(of("null"), None);
    }
}
