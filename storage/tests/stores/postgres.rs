//! What the PostgreSQL store does, on a server that the environment names.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use alloquy_core::query::{Sort, SortKey};
use alloquy_core::store::{ConversationRecord, ConversationStore};
use alloquy_core::{ConversationId, ErrorKind, Preface, Query};
use alloquy_storage::PostgresStore;
use alloquy_testing::laws::store::{
    all, closing_keeps_dropped_turns, dropped_turns_are_kept, large, persistent, threads_lose_nothing,
};
use pollster::block_on;
use tokio_postgres::{Client, NoTls};

use crate::servers::postgres as urls;
use crate::{me, say};

async fn open(url: String) -> PostgresStore {
    PostgresStore::open(&url).await.unwrap()
}

/// A plain connection to the same schema, for what no store does.
pub(crate) fn on_server<T>(url: &str, work: impl AsyncFnOnce(Client) -> T) -> T {
    let (base, schema) = url.split_once("schema=").unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let (client, connection) =
            tokio_postgres::connect(base.trim_end_matches(['?', '&']), NoTls).await.unwrap();
        let running = tokio::spawn(connection);
        client.batch_execute(&format!("SET search_path TO \"{schema}\"")).await.unwrap();
        let done = work(client).await;
        running.await.unwrap().unwrap();
        done
    })
}

#[test]
fn laws() {
    let Some(fresh) = urls() else { return };
    block_on(all(async || open(fresh()).await));
    block_on(dropped_turns_are_kept(async || open(fresh()).await));
    let place = fresh();
    block_on(closing_keeps_dropped_turns(async || open(place.clone()).await));
    block_on(persistent(&fresh, open));
    threads_lose_nothing(&block_on(open(fresh())));
}

#[test]
fn laws_at_size() {
    let Some(fresh) = urls() else { return };
    block_on(large(async || open(fresh()).await));
}

/// Positions of a busy server lie far apart, and blocks of all sizes are asked for.
#[test]
fn nodes_far_apart_are_found() {
    let Some(fresh) = urls() else { return };
    let url = fresh();
    let store = block_on(open(url.clone()));
    let id: ConversationId = "tea".parse().unwrap();
    block_on(store.create(&me(), &ConversationRecord::new(id.clone(), Preface::default()))).unwrap();
    let mut said = Vec::new();
    // Each time three times as far: the last is beyond all blocks that one question names.
    let mut position = 1_i64;
    for number in 0..18 {
        let sql = format!("SELECT setval(pg_get_serial_sequence('nodes', 'position'), {position})");
        on_server(&url, async |client| client.batch_execute(&sql).await.unwrap());
        let tea = say(None, "green tea");
        let other = say(None, if number % 2 == 0 { "green coffee" } else { "tea" });
        let nodes = [tea.clone(), other];
        block_on(store.append(&me(), &id, &nodes)).unwrap();
        said.push(tea.id);
        position = position * 3 + 1;
    }
    said.reverse();
    for limit in [1, 2, 5, 100] {
        let query = Query::default().text("green tea").unwrap().sort(Sort::descending(SortKey::Created));
        let query = query.limit(limit);
        let mut found = Vec::new();
        let mut page = block_on(store.search(&me(), &query)).unwrap();
        loop {
            found.extend(page.hits.iter().map(|hit| hit.node));
            let Some(next) = page.next else { break };
            page = block_on(store.search(&me(), &query.clone().after(next))).unwrap();
        }
        assert_eq!(found, said, "in pages of {limit}");
    }
    let listed = Query::default().text("green coffee").unwrap();
    assert_eq!(block_on(store.count(&me(), &listed)).unwrap(), 1);
}

/// An executor of another kind may drive the store too: it has a thread of its own.
#[test]
fn any_runtime_waits_for_it() {
    let Some(fresh) = urls() else { return };
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    runtime.block_on(async {
        let store = open(fresh()).await;
        assert_eq!(store.count(&me(), &Query::default()).await.unwrap(), 0);
    });
}

#[test]
fn many_servers_may_start_at_once() {
    let Some(fresh) = urls() else { return };
    let url = fresh();
    std::thread::scope(|scope| {
        for _ in 0..6 {
            scope.spawn(|| block_on(open(url.clone())));
        }
    });
}

#[test]
fn lost_connections_lose_and_repeat_nothing() {
    let Some(fresh) = urls() else { return };
    let url = fresh();
    let store = block_on(open(format!("{url}&application_name=torn")));
    let record = ConversationRecord::new("tea".parse().unwrap(), Preface::default());
    block_on(store.create(&me(), &record)).unwrap();
    let done = AtomicBool::new(false);
    let written = std::thread::scope(|scope| {
        scope.spawn(|| {
            on_server(&url, async |client| {
                let sql =
                    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = $1";
                for _ in 0..200 {
                    if done.load(Ordering::Relaxed) {
                        break;
                    }
                    client.query(sql, &[&"torn"]).await.unwrap();
                    tokio::time::sleep(Duration::from_millis(47)).await;
                }
            });
        });
        let written = block_on(async {
            let mut head = None;
            for number in 0..100 {
                let node = say(head, format!("message {number}"));
                store.append(&me(), &record.id, std::slice::from_ref(&node)).await.unwrap();
                store.set_head(&me(), &record.id, head, Some(node.id)).await.unwrap();
                head = Some(node.id);
            }
            head
        });
        done.store(true, Ordering::Relaxed);
        written
    });
    let (record, tree) = block_on(store.load(&me(), &record.id)).unwrap();
    assert_eq!((record.head, tree.len()), (written, 100));
    assert_eq!(tree.path(written).unwrap().len(), 100);
}

#[test]
fn damage_is_found() {
    let Some(fresh) = urls() else { return };
    let url = fresh();
    let store = block_on(open(url.clone()));
    let names = ["one", "two"].map(|name| ConversationRecord::new(name.parse().unwrap(), Preface::default()));
    let node = say(None, "green tea");
    for record in &names {
        block_on(store.create(&me(), record)).unwrap();
        block_on(store.append(&me(), &record.id, std::slice::from_ref(&node))).unwrap();
    }
    let digest = block_on(store.put_blob(&me(), &Arc::from(&b"bytes"[..]))).unwrap();
    on_server(&url, async |client| {
        let harm = "UPDATE nodes SET body = replace(body, 'green', 'black') WHERE conversation = 1;
            UPDATE conversations SET record = record || ' ' WHERE id = 'two'; UPDATE blobs SET bytes = 'bites'";
        client.batch_execute(harm).await.unwrap();
    });
    let kind = |outcome: alloquy_core::Result<()>| outcome.unwrap_err().kind();
    assert_eq!(kind(block_on(store.load(&me(), &names[0].id)).map(drop)), ErrorKind::Corrupt);
    assert_eq!(kind(block_on(store.record(&me(), &names[1].id)).map(drop)), ErrorKind::Corrupt);
    assert_eq!(kind(block_on(store.get_blob(&me(), digest)).map(drop)), ErrorKind::Corrupt);
    let page = block_on(store.list(&me(), &Query::default())).unwrap();
    assert_eq!((page.conversations.len(), page.damaged[0].name.as_str()), (1, "two"));
    let hits = block_on(store.search(&me(), &Query::default().text("tea").unwrap())).unwrap();
    assert_eq!((hits.hits.len(), hits.damaged[0].name.as_str()), (1, "one"));
    block_on(store.delete(&me(), &names[0].id)).unwrap();
}

#[test]
fn tables_of_others_are_refused() {
    let Some(fresh) = urls() else { return };
    let foreign = fresh();
    let newer = fresh();
    for (url, sql) in
        [(&foreign, "CREATE TABLE words (word TEXT)"), (&newer, "UPDATE format SET version = 9")]
    {
        if *url == newer {
            drop(block_on(open(url.clone())));
        }
        let schema = url.split_once("schema=").unwrap().1;
        let make = format!("CREATE SCHEMA IF NOT EXISTS \"{schema}\"; {sql}");
        on_server(url, async |client| client.batch_execute(&make).await.unwrap());
        let error = block_on(PostgresStore::open(url)).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Unsupported, "{error:#}");
    }
}

/// A file with the root certificate of the server.
const ROOT: &str = "ALLOQUY_TEST_POSTGRES_ROOT";

#[test]
fn encrypted_connections_need_a_trusted_certificate() {
    let Some(fresh) = urls() else { return };
    let Some(root) = std::env::var_os(ROOT) else {
        return eprintln!("skipped: {ROOT} names no root certificate of the server");
    };
    let url = fresh().replace("sslmode=disable", "sslmode=require");
    let trusted = format!("{url}&application_name=encrypted&sslrootcert={}", root.to_str().unwrap());
    let store = block_on(PostgresStore::open(&trusted)).unwrap();
    assert_eq!(block_on(store.count(&me(), &Query::default())).unwrap(), 0);
    let in_use =
        "SELECT ssl FROM pg_stat_ssl JOIN pg_stat_activity USING (pid) WHERE application_name = 'encrypted'";
    let plain = url.replace("sslmode=require", "sslmode=disable");
    let encrypted = on_server(&plain, async |client| {
        let rows = client.query(in_use, &[]).await.unwrap();
        !rows.is_empty() && rows.iter().all(|row| row.get(0))
    });
    assert!(encrypted, "the server says that the connection is encrypted");
    let error = block_on(PostgresStore::open(&url)).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Store, "{error:#}");
    let said = format!("{error:#}");
    assert!(said.contains("sslrootcert=PATH") && said.contains("not trusted"), "{said}");
    let absent = format!("{url}&sslrootcert=/absent.pem");
    let error = block_on(PostgresStore::open(&absent)).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Invalid, "{error:#}");
    assert!(error.to_string().contains("/absent.pem"), "{error:#}");
}
