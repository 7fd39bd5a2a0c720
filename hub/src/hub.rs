//! A Hub: lists repositories and fetches models.

use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use ureq::http::StatusCode;
use url::Url;

use crate::cache::{CachedModel, HubCache, variable};
use crate::choice::{Choice, Machine, choose, choose_description};
use crate::error::{HubError, Result};
use crate::event::{Events, PullEvent, pause};
use crate::http::{Answer, Http, TRIES, header_text, lost, status};
use crate::listing::{HubFile, Listing};
use crate::pull::pull;
use crate::repository::{ModelName, Repository, is_extra};

/// The Hub of Hugging Face.
const ENDPOINT: &str = "https://huggingface.co";

/// How long the listing of a repository may be. Those of a hundred thousand files have 20 MB.
const LISTING_BYTES: u64 = 64 << 20;

/// A Hub, and the cache for what comes from it. It blocks the thread that calls it.
///
/// ```no_run
/// use alloquy_hub::{Hub, Machine, choose, human};
///
/// let hub = Hub::from_env()?;
/// let listing = hub.list(&"onnx-community/Qwen3-0.6B-ONNX".parse()?, "main")?;
/// let choice = choose(&listing, None, Machine::this())?;
/// println!("{} ({}): {}", choice.variant.name, human(choice.bytes), choice.reason);
/// # Ok::<(), alloquy_hub::HubError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Hub {
    http: Http,
    cache: HubCache,
    machine: Machine,
    is_offline: bool,
}

/// Settings of a [`Hub`].
///
/// ```
/// use alloquy_hub::{Hub, HubCache, Machine};
///
/// let hub = Hub::builder()
///     .endpoint("https://hub.example")
///     .token("hf_secret")
///     .cache(HubCache::at("/var/models"))
///     .machine(Machine::with_memory(8_000_000_000))
///     .build()?;
/// assert_eq!(hub.endpoint(), "https://hub.example");
/// # Ok::<(), alloquy_hub::HubError>(())
/// ```
#[derive(Clone, Debug)]
#[must_use]
pub struct HubBuilder {
    endpoint: String,
    token: Option<String>,
    cache: Option<HubCache>,
    machine: Option<Machine>,
    is_offline: bool,
    first_wait: Duration,
}

impl HubBuilder {
    /// Sets the address of the server.
    pub fn endpoint(mut self, endpoint: impl Into<String>) -> Self {
        self.endpoint = endpoint.into();
        self
    }

    /// Sets the token of an account. It is sent to the server alone.
    pub fn token(mut self, token: impl Into<String>) -> Self {
        self.token = Some(token.into());
        self
    }

    /// Sets the cache; the default is that of this user.
    pub fn cache(mut self, cache: HubCache) -> Self {
        self.cache = Some(cache);
        self
    }

    /// Sets the machine for which variants are chosen; the default is this one.
    pub fn machine(mut self, machine: Machine) -> Self {
        self.machine = Some(machine);
        self
    }

    /// Forbids fetching: only what is in the cache is found.
    pub fn offline(mut self, is_offline: bool) -> Self {
        self.is_offline = is_offline;
        self
    }

    /// Sets the pause before a failed request is made again, half a second unless set. It doubles with each failure in succession.
    pub fn first_wait(mut self, wait: Duration) -> Self {
        self.first_wait = wait;
        self
    }

    /// Makes the Hub. Nothing is requested yet.
    ///
    /// # Errors
    /// [`HubError::Endpoint`] for an address that is none, [`HubError::NoCache`] where no cache is set and there is no home folder.
    pub fn build(self) -> Result<Hub> {
        let endpoint = endpoint(&self.endpoint)?;
        let cache = match self.cache {
            Some(cache) => cache,
            None => HubCache::from_env()?,
        };
        Ok(Hub {
            http: Http::new(endpoint, self.token, self.first_wait),
            cache,
            machine: self.machine.unwrap_or_else(Machine::this),
            is_offline: self.is_offline,
        })
    }
}

impl Hub {
    /// Starts with the settings of the public Hub, without a token.
    pub fn builder() -> HubBuilder {
        HubBuilder {
            endpoint: ENDPOINT.to_owned(),
            token: None,
            cache: None,
            machine: None,
            is_offline: false,
            first_wait: Duration::from_millis(500),
        }
    }

    /// Returns the Hub of this user, by the environment: see the [table](crate#settings).
    ///
    /// # Errors
    /// As [`HubBuilder::build`].
    pub fn from_env() -> Result<Self> {
        Self::env_builder().build()
    }

    /// Starts with the settings of this user's environment: see the [table](crate#settings).
    pub fn env_builder() -> HubBuilder {
        let mut builder = Self::builder().offline(is_set("HF_HUB_OFFLINE"));
        if let Some(endpoint) = text("HF_ENDPOINT") {
            builder = builder.endpoint(endpoint);
        }
        if let Some(token) = token() {
            builder = builder.token(token);
        }
        builder
    }

    /// Returns the address of the server, without a slash at the end.
    pub fn endpoint(&self) -> &str {
        self.http.endpoint()
    }

    /// Returns the cache.
    pub fn cache(&self) -> &HubCache {
        &self.cache
    }

    /// Returns the machine for which variants are chosen.
    pub fn machine(&self) -> Machine {
        self.machine
    }

    /// Lists the files of a repository at a revision: a branch, a tag or a commit.
    ///
    /// # Errors
    /// [`HubError::NotFound`], [`HubError::NoRevision`], [`HubError::Gated`] and [`HubError::BadToken`] as the Hub says;
    /// [`HubError::Connection`] and [`HubError::RateLimited`] when it cannot be reached; [`HubError::Answer`] for another answer.
    pub fn list(&self, repository: &Repository, revision: &str) -> Result<Listing> {
        self.list_with(repository, revision, &mut |_| std::ops::ControlFlow::Continue(()))
    }

    fn list_with(&self, repository: &Repository, revision: &str, events: Events<'_>) -> Result<Listing> {
        if self.is_offline {
            let revision = Some(revision).filter(|&revision| revision != "main").map(str::to_owned);
            let model = ModelName { repository: repository.clone(), revision, variant: None };
            return Err(HubError::Offline { model: model.to_string() });
        }
        if !is_extra(revision) {
            return Err(HubError::NoRevision {
                repository: repository.to_string(),
                revision: revision.to_owned(),
            });
        }
        let revision_part = revision.replace('/', "%2F");
        let path = format!("api/models/{repository}/revision/{revision_part}?blobs=true");
        let (url, json) = self.text(&path, repository, revision, events)?;
        let listing = Listing::read(&json).map_err(|reason| HubError::Answer { url, reason })?;
        // A repository that was renamed is kept under the name by which people open it.
        Ok(Listing { repository: repository.clone(), ..listing })
    }

    /// Requests a text, and returns it with the address that it came from. A connection that is cut is made again: the text is
    /// requested from its start, because it may be another one by then.
    fn text(
        &self,
        path: &str,
        repository: &Repository,
        revision: &str,
        events: Events<'_>,
    ) -> Result<(String, String)> {
        let mut tries = 1;
        loop {
            let answer = self.http.get(path, 0, &mut *events)?;
            let mut answer = self.accept(answer, repository, revision)?;
            let body = answer.response.body_mut().with_config().limit(LISTING_BYTES).read_to_string();
            let error = match (body, Url::parse(&answer.url)) {
                (Ok(text), _) => return Ok((answer.url, text)),
                (Err(ureq::Error::BodyExceedsLimit(_)), _) => {
                    let reason = format!("it is longer than {LISTING_BYTES} bytes");
                    return Err(HubError::Answer { url: answer.url, reason });
                }
                (Err(error), Ok(url)) => lost(&url, tries, error),
                (Err(error), Err(_)) => {
                    return Err(HubError::Answer { url: answer.url, reason: error.to_string() });
                }
            };
            if tries == TRIES {
                return Err(error);
            }
            pause(self.http.wait(tries), &error.to_string(), &mut *events)?;
            tries += 1;
        }
    }

    /// Fetches a variant of a model, as far as the cache lacks it, and returns the model in the cache.
    ///
    /// `events` receives each step; it ends the pull by returning [`Break`](std::ops::ControlFlow::Break). What was fetched is kept, and
    /// the next pull continues it.
    ///
    /// # Errors
    /// As [`Hub::list`] and [`choose`], and [`HubError::DiskFull`], [`HubError::Digest`], [`HubError::Io`] and
    /// [`HubError::Cancelled`].
    pub fn pull(
        &self,
        name: &ModelName,
        events: &mut dyn FnMut(PullEvent<'_>) -> std::ops::ControlFlow<()>,
    ) -> Result<CachedModel> {
        let listing = self.list_with(&name.repository, name.revision(), &mut *events)?;
        let choice = choose(&listing, name.variant.as_deref(), self.machine)?;
        self.pull_choice(name, &listing, &choice, events)
    }

    /// Fetches the files that describe a model, without its weights, as far as the cache lacks them: what a model on a server needs here.
    ///
    /// ```no_run
    /// use std::ops::ControlFlow;
    ///
    /// let hub = alloquy_hub::Hub::from_env()?;
    /// let model = hub.pull_description(&"Qwen/Qwen3-4B".parse()?, &mut |_| ControlFlow::Continue(()))?;
    /// println!("{} bytes at {}", model.bytes, model.path.display());
    /// # Ok::<(), alloquy_hub::HubError>(())
    /// ```
    ///
    /// # Errors
    /// As [`Hub::pull`], and [`HubError::NoTokenizer`].
    pub fn pull_description(
        &self,
        name: &ModelName,
        events: &mut dyn FnMut(PullEvent<'_>) -> std::ops::ControlFlow<()>,
    ) -> Result<CachedModel> {
        let listing = self.list_with(&name.repository, name.revision(), &mut *events)?;
        let choice = choose_description(&listing)?;
        self.pull_choice(name, &listing, &choice, events)
    }

    /// Fetches a variant that was chosen from a listing: see [`Hub::pull`].
    ///
    /// # Errors
    /// As [`Hub::pull`].
    pub fn pull_choice(
        &self,
        name: &ModelName,
        listing: &Listing,
        choice: &Choice,
        events: &mut dyn FnMut(PullEvent<'_>) -> std::ops::ControlFlow<()>,
    ) -> Result<CachedModel> {
        let files: Vec<&HubFile> = choice.variant.listed(listing).collect();
        let pulled = pull(&self.http, &self.cache, listing, &files, events);
        pulled.map_err(|error| self.explained(error, &name.repository))?;
        self.cache.set_revision(&listing.repository, name.revision(), &listing.commit)?;
        let path = self.cache.snapshot(&listing.repository, &listing.commit).join(choice.variant.path());
        Ok(CachedModel {
            name: name.clone(),
            path,
            variant: choice.variant.name.clone(),
            commit: listing.commit.clone(),
            bytes: choice.bytes,
        })
    }

    /// Returns an answer of success; other ones become errors that say what to do.
    ///
    /// Reference: `hf_raise_for_status` of huggingface_hub.
    fn accept(&self, answer: Answer, repository: &Repository, revision: &str) -> Result<Answer> {
        let Answer { url, response } = answer;
        if response.status().is_success() {
            return Ok(Answer { url, response });
        }
        let code = header_text(&response, "x-error-code").unwrap_or_default();
        match (response.status(), code.as_str()) {
            (_, "RevisionNotFound") => Err(HubError::NoRevision {
                repository: repository.to_string(),
                revision: revision.to_owned(),
            }),
            (_, "GatedRepo") => Err(self.gated(repository)),
            (_, "RepoNotFound") | (StatusCode::NOT_FOUND, _) => Err(self.not_found(repository)),
            (StatusCode::UNAUTHORIZED, _) if self.http.has_token() => {
                Err(HubError::BadToken { endpoint: self.endpoint().to_owned() })
            }
            (StatusCode::UNAUTHORIZED, _) => Err(self.not_found(repository)),
            (StatusCode::FORBIDDEN, _) => Err(self.gated(repository)),
            _ => Err(match Url::parse(&url) {
                Ok(parsed) => status(&parsed, response),
                Err(error) => HubError::Answer { url, reason: error.to_string() },
            }),
        }
    }

    /// The listing of a gated repository is public: only its files are refused.
    fn explained(&self, error: HubError, repository: &Repository) -> HubError {
        match error {
            HubError::Status { status: 401 | 403, .. } => self.gated(repository),
            other => other,
        }
    }

    fn gated(&self, repository: &Repository) -> HubError {
        HubError::Gated {
            repository: repository.to_string(),
            page: format!("{}/{repository}", self.endpoint()),
            has_token: self.http.has_token(),
        }
    }

    fn not_found(&self, repository: &Repository) -> HubError {
        HubError::NotFound { endpoint: self.endpoint().to_owned(), repository: repository.to_string() }
    }
}

/// Reads the address of a server.
fn endpoint(text: &str) -> Result<Url> {
    let invalid = |reason: String| HubError::Endpoint { endpoint: text.to_owned(), reason };
    let url = Url::parse(text).map_err(|error| invalid(error.to_string()))?;
    if !matches!(url.scheme(), "http" | "https") || url.host_str().is_none() {
        return Err(invalid("it begins with neither http:// nor https://".to_owned()));
    }
    if url.query().is_some() || url.fragment().is_some() {
        return Err(invalid("it has a part that begins with '?' or '#'".to_owned()));
    }
    Ok(url)
}

/// Returns this user's token: a variable, or the file that `hf auth login` writes.
fn token() -> Option<String> {
    if let Some(token) = text("HF_TOKEN") {
        return Some(token);
    }
    let path = variable("HF_TOKEN_PATH").or_else(token_file)?;
    let token = fs::read_to_string(path).ok()?.trim().to_owned();
    Some(token).filter(|token| !token.is_empty())
}

fn token_file() -> Option<PathBuf> {
    if let Some(home) = variable("HF_HOME") {
        return Some(home.join("token"));
    }
    let cache = match variable("XDG_CACHE_HOME") {
        Some(cache) => cache,
        None => etcetera::home_dir().ok()?.join(".cache"),
    };
    Some(cache.join("huggingface").join("token"))
}

fn text(name: &str) -> Option<String> {
    let value = std::env::var(name).ok()?.trim().to_owned();
    Some(value).filter(|value| !value.is_empty())
}

/// Returns whether a variable is set to what huggingface_hub takes for true.
fn is_set(name: &str) -> bool {
    text(name).is_some_and(|value| ["1", "ON", "YES", "TRUE"].contains(&value.to_uppercase().as_str()))
}
