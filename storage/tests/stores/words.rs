//! What is searched is complete whenever the words of a node are written, and whatever goes meanwhile.

use alloquy_core::query::{Filter, Sort, SortKey};
use alloquy_core::store::{ConversationRecord, ConversationStore};
use alloquy_core::{ConversationId, Node, NodeId, Preface, Query};
use alloquy_storage::SqliteStore;
use pollster::block_on;
use rusqlite::Connection;

use crate::{Places, me, say};

async fn create(store: &SqliteStore, name: &str) -> ConversationId {
    let record = ConversationRecord::new(name.parse().unwrap(), Preface::default());
    store.create(&me(), &record).await.unwrap();
    record.id
}

async fn append(store: &SqliteStore, id: &ConversationId, node: &Node) {
    store.append(&me(), id, std::slice::from_ref(node)).await.unwrap();
}

/// How many nodes are found, newest first and by relevance, and in how many conversations.
async fn found(store: &SqliteStore, text: &str) -> (usize, usize) {
    let query = Query::default().text(text).unwrap();
    let newest = query.clone().sort(Sort::descending(SortKey::Created));
    let hits = store.search(&me(), &newest).await.unwrap().hits;
    assert_eq!(store.search(&me(), &query).await.unwrap().hits.len(), hits.len().min(500));
    assert!(hits.is_sorted_by(|left, right| left.node > right.node), "newest first");
    let count = store.count(&me(), &query).await.unwrap();
    assert_eq!(store.list(&me(), &query).await.unwrap().conversations.len(), count);
    (hits.len(), count)
}

#[test]
fn every_node_is_found_at_once() {
    let places = Places::new();
    let path = places.next();
    block_on(async {
        let store = SqliteStore::open(&path).await.unwrap();
        let other = SqliteStore::open(&path).await.unwrap();
        let id = create(&store, "tea").await;
        for number in 1..=150 {
            append(if number % 2 == 0 { &store } else { &other }, &id, &say(None, format!("tea {number}")))
                .await;
            assert_eq!(found(&store, "tea").await, (number, 1));
            assert_eq!(found(&other, &format!("\"tea {number}\"")).await, (1, 1));
        }
    });
}

#[test]
fn a_page_goes_on_across_the_end_of_the_index() {
    let places = Places::new();
    block_on(async {
        let store = SqliteStore::open(places.next()).await.unwrap();
        let id = create(&store, "tea").await;
        for number in 0..100 {
            append(&store, &id, &say(None, if number % 3 == 0 { "tea" } else { "coffee" })).await;
        }
        for sort in [SortKey::Created, SortKey::Relevance] {
            let query = Query::default().text("tea").unwrap().sort(Sort::descending(sort)).limit(7);
            let mut page = store.search(&me(), &query).await.unwrap();
            let mut nodes = Vec::new();
            while let Some(next) = page.next {
                nodes.extend(page.hits.iter().map(|hit| hit.node));
                page = store.search(&me(), &query.clone().after(next)).await.unwrap();
            }
            nodes.extend(page.hits.iter().map(|hit| hit.node));
            assert_eq!(nodes.len(), 34);
            assert!(nodes.is_sorted_by(|left, right| left > right), "each once, the newest first");
        }
    });
}

/// Positions at the end are free again when their nodes go; nodes that come after are found all the same.
#[test]
fn what_goes_takes_its_words_along() {
    let places = Places::new();
    let path = places.next();
    block_on(async {
        let store = SqliteStore::open(&path).await.unwrap();
        let kept = create(&store, "kept").await;
        let gone = create(&store, "gone").await;
        let many = |text: &str, count: usize| (0..count).map(|_| say(None, text)).collect::<Vec<_>>();
        let nodes = many("tea", 90);
        store.append(&me(), &kept, &nodes).await.unwrap();
        append(&store, &kept, &say(None, "tea")).await;
        assert_eq!(found(&store, "tea").await, (91, 1));
        prune_all(&store, &kept, nodes.iter().skip(50).map(|node| node.id)).await;
        assert_eq!(found(&store, "tea").await, (51, 1));
        store.compact(&me(), &kept).await.unwrap();
        store.append(&me(), &gone, &many("cocoa", 70)).await.unwrap();
        append(&store, &gone, &say(None, "cocoa")).await;
        assert_eq!(found(&store, "cocoa").await, (71, 1));
        store.delete(&me(), &gone).await.unwrap();
        assert_eq!(found(&store, "cocoa").await, (0, 0));
        for number in 1..=80 {
            append(&store, &kept, &say(None, "cocoa and tea")).await;
            assert_eq!(found(&store, "cocoa").await, (number, 1));
            assert_eq!(found(&store, "tea").await, (51 + number, 1));
        }
        let query = Query::default().text("cocoa").unwrap().filter(Filter::missing("title"));
        assert_eq!(store.delete_matching(&me(), &query).await.unwrap(), [kept]);
        assert_eq!(found(&store, "tea").await, (0, 0));
    });
    let left = "SELECT (SELECT count(*) FROM words_docsize) + (SELECT count(*) FROM nodes)";
    let left: i64 = Connection::open(&path).unwrap().query_row(left, [], |row| row.get(0)).unwrap();
    assert_eq!(left, 0, "nothing is left of what was deleted");
}

async fn prune_all(store: &SqliteStore, id: &ConversationId, nodes: impl Iterator<Item = NodeId>) {
    for node in nodes {
        store.prune(&me(), id, node).await.unwrap();
    }
}
