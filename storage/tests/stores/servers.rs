//! The servers that tests use: where the environment says they are, and a fresh place on them for each store.

use std::sync::atomic::{AtomicUsize, Ordering};

/// Where a PostgreSQL server is: a URL whose user may create schemas.
const POSTGRES: &str = "ALLOQUY_TEST_POSTGRES";

/// Where a server is that speaks like S3: its URL. It takes any credentials, and keeps a bucket `alloquy`.
const S3: &str = "ALLOQUY_TEST_S3";

/// Names that no other test and no earlier run has taken.
fn fresh() -> String {
    static USED: AtomicUsize = AtomicUsize::new(0);
    let id = alloquy_core::NodeId::new().to_string().replace('-', "");
    format!("test_{id}_{}", USED.fetch_add(1, Ordering::Relaxed))
}

/// Says where a server is, or aloud that a test does nothing without one.
fn server(variable: &str) -> Option<String> {
    let place = std::env::var(variable).ok().filter(|place| !place.is_empty());
    if place.is_none() {
        eprintln!("skipped: {variable} does not say where a server is");
    }
    place
}

/// Makes the URL of an empty schema each time, where there is a server.
pub(crate) fn postgres() -> Option<impl Fn() -> String> {
    let url = server(POSTGRES)?;
    let sign = if url.contains('?') { '&' } else { '?' };
    Some(move || format!("{url}{sign}schema={}", fresh()))
}

/// Makes the URL of an empty prefix each time, where there is a server.
pub(crate) fn buckets() -> Option<impl Fn() -> String> {
    let endpoint = server(S3)?;
    Some(move || format!("s3://alloquy/{}?endpoint={endpoint}&region=us-east-1", fresh()))
}
