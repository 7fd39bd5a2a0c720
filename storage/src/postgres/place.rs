//! Where the database is: what a URL says, connections that are ready to use, and what may be said of it in errors.

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

/// How many connections a store holds at most: a server takes a hundred of them unless told otherwise.
const CONNECTIONS: usize = 8;

/// How long a call waits for a connection of its own.
const PATIENCE: Duration = Duration::from_secs(60);

/// How long reaching the server may take, where the URL does not say.
const REACH: Duration = Duration::from_secs(10);

const SCHEMA: &str = "alloquy";

/// A database, and the schema in it where the tables are.
pub(super) struct Place {
    config: Config,
    pub(super) schema: String,
    /// Whose certificates are trusted, where it is not what the system trusts.
    root: Option<PathBuf>,
}

impl Place {
    /// Reads a URL. What is wrong with it is not quoted: it may be a part of a password.
    pub(super) fn of(url: &str) -> Result<Self, Failure> {
        let (base, parameters) = url.split_once('?').unwrap_or((url, ""));
        let (own, other): (Vec<_>, Vec<_>) = parameters
            .split('&')
            .filter(|text| !text.is_empty())
            .partition(|text| text.starts_with("schema=") || text.starts_with("sslrootcert="));
        let last = |name| own.iter().rev().find_map(|text| text.strip_prefix(name));
        let schema = last("schema=").unwrap_or(SCHEMA);
        let root = last("sslrootcert=").map(PathBuf::from);
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

    /// Names the database for people, without its password.
    pub(super) fn name(&self) -> String {
        let host = |host: &Host| match host {
            Host::Tcp(name) => name.clone(),
            #[cfg(unix)]
            Host::Unix(path) => path.display().to_string(),
        };
        let hosts: Vec<_> = self.config.get_hosts().iter().map(host).collect();
        let database = self.config.get_dbname().unwrap_or_default();
        format!("PostgreSQL database {database:?} on {}, schema {:?}", hosts.join(", "), self.schema)
    }

    /// Makes connections when they are needed.
    pub(super) fn pool(&self) -> Result<Pool, Failure> {
        let tls = MakeRustlsConnect::new(encryption(self.root.as_deref())?);
        let recycling = ManagerConfig { recycling_method: RecyclingMethod::Fast };
        let manager = Manager::from_config(self.config.clone(), tls, recycling);
        let settings = self.settings();
        let ready = Hook::async_fn(move |client: &mut deadpool_postgres::ClientWrapper, _| {
            let settings = settings.clone();
            Box::pin(async move { client.batch_execute(&settings).await.map_err(HookError::Backend) })
        });
        let pool = Pool::builder(manager)
            .max_size(CONNECTIONS)
            .runtime(Runtime::Tokio1)
            .wait_timeout(Some(PATIENCE))
            .post_create(ready)
            .build();
        pool.map_err(|_| Failure::Ended)
    }

    /// What holds for every connection. No question takes as long as compiling it would. A server that acknowledges before it has written would lose what was
    /// acknowledged.
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

/// Names that need no quotes, so that whoever types SQL needs none either.
fn is_name(name: &str) -> bool {
    let mut bytes = name.bytes();
    let first = bytes.next().is_some_and(|byte| byte.is_ascii_lowercase() || byte == b'_');
    let is_part = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_';
    first && name.len() <= 63 && bytes.all(is_part) && !name.starts_with("pg_")
}

/// Encryption, where the server offers it, with the certificates that a file holds or else the system trusts.
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
    let unread = |reason: String| Failure::RootCertificate { path: path.to_owned(), reason };
    let mut roots = RootCertStore::empty();
    for certificate in CertificateDer::pem_file_iter(path).map_err(|error| unread(error.to_string()))? {
        let certificate = certificate.map_err(|error| unread(error.to_string()))?;
        roots.add(certificate).map_err(|error| unread(error.to_string()))?;
    }
    match roots.is_empty() {
        true => Err(unread("it holds none".to_owned())),
        false => Ok(roots),
    }
}
