//! Parses the URL of a database, and makes connections to it.

use std::fmt::Display;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use deadpool_postgres::{Hook, HookError, Manager, ManagerConfig, Pool, RecyclingMethod, Runtime};
use rustls::crypto::ring;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use rustls::{ClientConfig, RootCertStore};
use rustls_platform_verifier::BuilderVerifierExt;
use tokio_postgres::Config;
use tokio_postgres::config::Host;
use tokio_postgres_rustls::MakeRustlsConnect;

use crate::failure::Failure;

/// The most connections of a store. A server allows a hundred by default.
const CONNECTIONS: usize = 8;

/// How long a call waits for a connection.
const PATIENCE: Duration = Duration::from_secs(60);

/// How long connecting may take, unless the URL sets it.
const REACH: Duration = Duration::from_secs(10);

const SCHEMA: &str = "alloquy";

/// How long the name of a schema may be: PostgreSQL would cut longer ones.
const LONGEST: usize = 63;

/// A database, and the schema in it where the tables are.
pub(super) struct Place {
    config: Config,
    pub(super) schema: String,
    /// The root certificates to trust instead of those of the system.
    root: Option<PathBuf>,
}

impl Place {
    /// Parses a URL. The error does not quote it, because it may contain a password.
    pub(super) fn of(url: &str) -> Result<Self, Failure> {
        let (base, parameters) = url.split_once('?').unwrap_or((url, ""));
        let mut schema = SCHEMA;
        let mut root = None;
        // The two parameters of our own; the client parses the others.
        let mut other = Vec::new();
        for parameter in parameters.split('&').filter(|parameter| !parameter.is_empty()) {
            if let Some(name) = parameter.strip_prefix("schema=") {
                schema = name;
            } else if let Some(path) = parameter.strip_prefix("sslrootcert=") {
                root = Some(PathBuf::from(path));
            } else {
                other.push(parameter);
            }
        }
        let mut config: Config =
            format!("{base}?{}", other.join("&")).parse().map_err(|_| Failure::NotPostgres)?;
        if !is_name(schema) || config.get_hosts().is_empty() {
            return Err(Failure::NotPostgres);
        }
        if config.get_connect_timeout().is_none() {
            config.connect_timeout(REACH);
        }
        if config.get_application_name().is_none() {
            config.application_name("alloquy");
        }
        Ok(Self { config, schema: schema.to_owned(), root })
    }

    /// Returns the place with another schema: its name with an ending.
    #[cfg(any(feature = "guards", feature = "retrieval"))]
    pub(super) fn beside(mut self, ending: &str) -> Result<Self, Failure> {
        let schema = format!("{}{ending}", self.schema);
        if !is_name(&schema) {
            let words = format!(
                "the schema {:?} is too long for tables in {schema:?}: a name has at most {LONGEST} letters",
                self.schema
            );
            return Err(alloquy_core::Error::new(alloquy_core::ErrorKind::Invalid, words).into());
        }
        self.schema = schema;
        Ok(self)
    }

    /// Returns the name of the database for errors, without the password.
    pub(super) fn name(&self) -> String {
        let hosts: Vec<_> = self.config.get_hosts().iter().map(shown).collect();
        let database = self.config.get_dbname().unwrap_or_default();
        format!("PostgreSQL database {database:?} on {}, schema {:?}", hosts.join(", "), self.schema)
    }

    /// Returns a pool, which connects when a connection is needed.
    pub(super) fn pool(&self) -> Result<Pool, Failure> {
        let tls = MakeRustlsConnect::new(encryption(self.root.as_deref())?);
        let recycling = ManagerConfig { recycling_method: RecyclingMethod::Fast };
        let manager = Manager::from_config(self.config.clone(), tls, recycling);
        let settings = self.settings();
        let set_up = Hook::async_fn(move |client: &mut deadpool_postgres::ClientWrapper, _| {
            let settings = settings.clone();
            Box::pin(async move { client.batch_execute(&settings).await.map_err(HookError::Backend) })
        });
        let pool = Pool::builder(manager)
            .max_size(CONNECTIONS)
            .runtime(Runtime::Tokio1)
            .wait_timeout(Some(PATIENCE))
            .post_create(set_up)
            .build();
        pool.map_err(|_| Failure::Ended)
    }

    /// Returns the SQL that sets up a connection.
    ///
    /// `jit` is off, because compiling a query would take longer than running it. `synchronous_commit` is on: without it
    /// the server acknowledges a commit before it has written it, and can lose the commit.
    fn settings(&self) -> String {
        format!(
            "SET search_path TO \"{}\", pg_catalog;
            SET lock_timeout = '{}s';
            SET client_min_messages = warning;
            SET plan_cache_mode = force_custom_plan;
            SET jit = off;
            SELECT set_config('synchronous_commit', 'on', false)
                WHERE current_setting('synchronous_commit') = 'off';",
            self.schema,
            PATIENCE.as_secs()
        )
    }
}

fn shown(host: &Host) -> String {
    match host {
        Host::Tcp(name) => name.clone(),
        #[cfg(unix)]
        Host::Unix(path) => path.display().to_string(),
    }
}

/// Returns whether a schema may have a name: only names that need no quotes, so that a person who types SQL needs none either.
fn is_name(name: &str) -> bool {
    let starts_with_digit = name.bytes().next().is_none_or(|byte| byte.is_ascii_digit());
    !starts_with_digit
        && name.len() <= LONGEST
        && name.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_')
        && !name.starts_with("pg_")
}

/// Returns the settings for encryption, which trust the certificates of a file, or else those of the system.
fn encryption(root: Option<&Path>) -> Result<ClientConfig, Failure> {
    let builder = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()));
    let versions = builder.with_safe_default_protocol_versions().map_err(Failure::Encryption)?;
    let verified = match root {
        Some(path) => versions.with_root_certificates(roots(path)?),
        None => versions.with_platform_verifier().map_err(Failure::Encryption)?,
    };
    Ok(verified.with_no_client_auth())
}

fn roots(path: &Path) -> Result<RootCertStore, Failure> {
    let mut roots = RootCertStore::empty();
    for certificate in CertificateDer::pem_file_iter(path).map_err(|error| unread(path, error))? {
        let certificate = certificate.map_err(|error| unread(path, error))?;
        roots.add(certificate).map_err(|error| unread(path, error))?;
    }
    if roots.is_empty() {
        return Err(unread(path, "it holds none"));
    }
    Ok(roots)
}

fn unread(path: &Path, reason: impl Display) -> Failure {
    Failure::RootCertificate { path: path.to_owned(), reason: reason.to_string() }
}
