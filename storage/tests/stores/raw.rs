//! What stands in a place, read without any store: the ids of nodes, as often as they are written there.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

use futures::TryStreamExt;
use object_store::aws::AmazonS3Builder;
use object_store::{ObjectStore, ObjectStoreExt};
use rusqlite::Connection;
use serde_json::Value;

use crate::postgres::on_server;

/// A conversation as the place calls it, and the id of a node in it.
type Record = (String, String);

/// Returns how many nodes are written more than once.
pub(crate) fn duplicates(url: &str) -> usize {
    let written = match url.split_once(':').unwrap() {
        ("file", path) => in_folder(Path::new(path)),
        ("sqlite", path) => in_database(Path::new(path)),
        ("postgres", _) => on_postgres(url),
        ("s3", _) => in_bucket(url),
        (scheme, _) => panic!("nothing is known of {scheme:?}"),
    };
    assert!(!written.is_empty(), "there are nodes to look at");
    written.len() - written.iter().collect::<BTreeSet<_>>().len()
}

fn ids(conversation: &str, nodes: &Value) -> Vec<Record> {
    let nodes = nodes.as_array().into_iter().flatten();
    nodes.map(|node| (conversation.to_owned(), node["id"].as_str().unwrap().to_owned())).collect()
}

fn in_folder(path: &Path) -> Vec<Record> {
    let logs = std::fs::read_dir(path.join("conversations")).unwrap().map(|entry| entry.unwrap().path());
    let logs = logs.filter(|log| log.extension().is_some_and(|ending| ending == "jsonl"));
    let lines = logs.flat_map(|log| {
        let text = std::fs::read_to_string(&log).unwrap();
        // What has no line feed was not acknowledged.
        let whole: Vec<String> =
            text.split_inclusive('\n').filter(|line| line.ends_with('\n')).map(str::to_owned).collect();
        whole.into_iter().map(move |line| (log.display().to_string(), line))
    });
    let read = |(log, line): (String, String)| {
        let line: Value = serde_json::from_str(&line).unwrap();
        ids(&log, &line[0]["nodes"])
    };
    lines.flat_map(read).collect()
}

fn in_database(path: &Path) -> Vec<Record> {
    let connection = Connection::open(path).unwrap();
    let mut rows = connection.prepare("SELECT conversation, id FROM nodes").unwrap();
    let record = |row: &rusqlite::Row<'_>| Ok((row.get::<_, i64>(0)?.to_string(), row.get(1)?));
    rows.query_map([], record).unwrap().map(Result::unwrap).collect()
}

fn on_postgres(url: &str) -> Vec<Record> {
    on_server(url, async |client| {
        let rows = client.query("SELECT conversation, id FROM nodes", &[]).await.unwrap();
        rows.iter().map(|row| (row.get::<_, i64>(0).to_string(), row.get(1))).collect()
    })
}

fn in_bucket(url: &str) -> Vec<Record> {
    let (place, parameters) = url.strip_prefix("s3://").unwrap().split_once('?').unwrap();
    let (bucket, prefix) = place.split_once('/').unwrap();
    let mut builder = AmazonS3Builder::from_env().with_bucket_name(bucket).with_allow_http(true);
    for (name, value) in parameters.split('&').map(|parameter| parameter.split_once('=').unwrap()) {
        builder = match name {
            "endpoint" => builder.with_endpoint(value),
            _ => builder.with_region(value),
        };
    }
    let objects = Arc::new(builder.build().unwrap());
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let below = object_store::path::Path::from(format!("{prefix}/local/log"));
        let entries = objects.list(Some(&below)).map_ok(|found| {
            let objects = objects.clone();
            async move {
                let bytes = objects.get(&found.location).await?.bytes().await?;
                Ok((found.location, bytes))
            }
        });
        let entries: Vec<_> = entries.try_buffered(16).try_collect().await.unwrap();
        // A whole entry repeats the others.
        let read = entries.iter().flat_map(|(key, bytes)| {
            let json = bytes.split(|&byte| byte == b'\n').next().unwrap();
            let entry: Value = serde_json::from_slice(json).unwrap();
            ids(key.parts().rev().nth(1).unwrap().as_ref(), &entry["change"]["nodes"])
        });
        read.collect()
    })
}

#[test]
fn a_node_that_is_written_twice_is_counted() {
    let folder = tempfile::tempdir().unwrap();
    let lines = "[{\"nodes\":[{\"id\":\"a\"},{\"id\":\"b\"}]},\"\"]\n[{\"nodes\":[{\"id\":\"a\"}]},\"\"]\n[{\"nodes\":[";
    std::fs::create_dir(folder.path().join("conversations")).unwrap();
    std::fs::write(folder.path().join("conversations/tea.jsonl"), lines).unwrap();
    assert_eq!(duplicates(&format!("file:{}", folder.path().display())), 1);
}
