//! Connects to the bucket that a URL names.

use std::sync::Arc;
use std::time::Duration;

use alloquy_core::{Error, ErrorKind, Result};
use object_store::aws::AmazonS3Builder;
use object_store::{BackoffConfig, ObjectStore, RetryConfig};

use super::objects::PATIENCE;
use crate::failure::Failure;

/// Returns the bucket and the prefix that a URL names.
pub(super) fn of(url: &str) -> Result<(Arc<dyn ObjectStore>, String)> {
    let Some(rest) = url.strip_prefix("s3://") else { return Err(malformed(url)) };
    let (place, parameters) = rest.split_once('?').unwrap_or((rest, ""));
    let (bucket, prefix) = place.split_once('/').unwrap_or((place, ""));
    if bucket.is_empty() {
        return Err(malformed(url));
    }
    // Fails where the host has installed a provider, which is then used.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let mut builder = AmazonS3Builder::from_env().with_bucket_name(bucket);
    for parameter in parameters.split('&').filter(|text| !text.is_empty()) {
        builder = match parameter.split_once('=') {
            Some(("endpoint", at)) => builder.with_endpoint(at).with_allow_http(at.starts_with("http://")),
            Some(("region", region)) => builder.with_region(region),
            _ => return Err(malformed(url)),
        };
    }
    let builder = builder.with_retry(retries());
    let objects = builder.build().map_err(Failure::Objects)?;
    Ok((Arc::new(objects), prefix.to_owned()))
}

fn malformed(url: &str) -> Error {
    let message = format!("{url:?} is not of the form s3://BUCKET/PREFIX?endpoint=URL&region=NAME");
    Error::new(ErrorKind::Invalid, message)
}

/// A request is tried for as long as a server takes to restart.
fn retries() -> RetryConfig {
    let backoff = BackoffConfig { max_backoff: Duration::from_secs(2), ..BackoffConfig::default() };
    RetryConfig { backoff, max_retries: 6, retry_timeout: PATIENCE }
}
