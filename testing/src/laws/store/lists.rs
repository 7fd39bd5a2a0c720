//! Lists and counts: order, pages, filters.

use std::ops::RangeBounds;
use std::time::Duration;

use alloquy_core::query::{Filter, MetadataKey, MetadataValue, PageCursor, Sort, SortKey};
use alloquy_core::store::{ConversationRecord, ConversationStore};
use alloquy_core::{ErrorKind, Preface, Query};
use serde_json::{Value, json};

use super::conversations::listed;
use super::outcomes::{kind, me, must, name};
use super::samples::{chain, moment, node_of, object};

/// Creates a conversation with this time of creation and this metadata.
async fn put(store: &dyn ConversationStore, text: &str, seconds: u64, metadata: Value) {
    let mut record = ConversationRecord::new(name(text), Preface::default());
    record.created = moment(seconds);
    record.metadata = object(metadata);
    must("create", store.create(&me(), &record).await);
}

/// A list is sorted last updated first and counts the nodes of each conversation. A count is that of conversations.
pub async fn conversations_are_listed_last_updated_first(store: &dyn ConversationStore) {
    // The time of creation and the times of the nodes; the latest of them is the time of the update.
    let conversations: [(&str, u64, &[u64]); 4] =
        [("third", 10, &[20]), ("second", 30, &[12]), ("first", 5, &[40, 15]), ("fourth", 19, &[])];
    for (text, seconds, nodes) in conversations {
        put(store, text, seconds, json!({})).await;
        for &seconds in nodes {
            must("append", store.append(&me(), &name(text), &[node_of(seconds)]).await);
        }
    }
    let page = must("list", store.list(&me(), &Query::default()).await);
    let found: Vec<_> = page
        .conversations
        .iter()
        .map(|summary| (summary.record.id.as_str(), summary.nodes, summary.updated))
        .collect();
    let expected = [("first", 2, 40), ("second", 1, 30), ("third", 1, 20), ("fourth", 0, 19)];
    let expected = expected.map(|(name, nodes, seconds)| (name, nodes, moment(seconds)));
    assert_eq!(found, expected, "conversations are listed last updated first, with their nodes");
    for line in &page.conversations {
        let summary = must("summary", store.summary(&me(), &line.record.id).await);
        assert_eq!(&summary, line, "the summary of a conversation is its line of the list");
        let record = must("record", store.record(&me(), &line.record.id).await);
        assert_eq!(record, line.record, "the record of a conversation is that of its line");
    }
    assert!(page.next.is_none(), "a list without a limit is one page");
    assert_eq!(
        must("count", store.count(&me(), &Query::default()).await),
        4,
        "all conversations are counted"
    );
    let limited = Query::default().limit(2);
    assert_eq!(must("count", store.count(&me(), &limited).await), 4, "a limit does not change the count");
    assert!(
        listed(store, &Query::default().limit(0)).await.is_empty(),
        "a limit of 0 gives no conversations"
    );
}

/// Filters compare metadata by type and value: equal, one of several, present or missing, in a range, in nested objects.
pub async fn filters_compare_metadata(store: &dyn ConversationStore) {
    put(
        store,
        "a",
        1,
        json!({"n": 1, "user": {"name": "ann", "a.b/c~d": true}, "tags": ["x"], "none": null}),
    )
    .await;
    put(store, "b", 2, json!({"n": 1.0, "user": {"name": "Ann"}, "user.name": "ann"})).await;
    put(store, "c", 3, json!({"n": "1", "user": "ann", "none": {}})).await;
    put(store, "d", 4, json!({"n": 9_007_199_254_740_993_u64, "user": {"name": "a'\"%_\u{1F980}"}})).await;
    put(store, "e", 5, json!({"n": -2.5, "user": {"name": "b".repeat(5000)}})).await;
    put(store, "f", 6, json!({"n": true})).await;
    let cases: Vec<(Filter, &[&str])> = vec![
        (Filter::equals("n", 1), &["a", "b"]),
        (Filter::equals("n", 1.0), &["a", "b"]),
        (Filter::equals("n", "1"), &["c"]),
        (Filter::equals("n", true), &["f"]),
        (Filter::equals("n", 9_007_199_254_740_993_u64), &["d"]),
        (Filter::equals("n", 9_007_199_254_740_992_u64), &[]),
        (Filter::equals("user.name", "ann"), &["a"]),
        (Filter::equals(MetadataKey::of(["user.name"]), "ann"), &["b"]),
        (Filter::equals(MetadataKey::of(["user", "a.b/c~d"]), true), &["a"]),
        (Filter::equals("user", "ann"), &["c"]),
        (Filter::equals("user.name", "a'\"%_\u{1F980}"), &["d"]),
        (Filter::equals("user.name", "b".repeat(5000)), &["e"]),
        (Filter::equals("user.name", "b".repeat(4999)), &[]),
        (Filter::equals("none", MetadataValue::Null), &["a"]),
        (
            Filter::one_of("n", [MetadataValue::from(1), MetadataValue::from(true), MetadataValue::from(77)]),
            &["a", "b", "f"],
        ),
        (Filter::one_of::<MetadataValue>("n", []), &[]),
        (Filter::exists("user.name"), &["a", "b", "d", "e"]),
        (Filter::exists("none"), &["a", "c"]),
        (Filter::exists("tags"), &["a"]),
        (Filter::missing("user"), &["f"]),
        (Filter::missing("none"), &["b", "d", "e", "f"]),
        (range("n", number(1)..), &["a", "b", "d"]),
        (range("n", ..number(1)), &["e"]),
        (range("n", number(-3)..=number(1)), &["a", "b", "e"]),
        (range("user.name", MetadataValue::from("a")..MetadataValue::from("b")), &["a", "d"]),
        (range("n", ..MetadataValue::from("2")), &["c"]),
    ];
    for (filter, expected) in cases {
        let query = Query::default().filter(filter.clone()).sort(Sort::ascending(SortKey::Id));
        assert_eq!(listed(store, &query).await, expected, "{filter:?}");
        let count = must("count", store.count(&me(), &query).await);
        assert_eq!(count, expected.len(), "a count and a list match the same: {filter:?}");
    }
    let both = Query::default().filter(Filter::equals("n", 1)).filter(Filter::exists("tags"));
    assert_eq!(listed(store, &both).await, ["a"], "every filter must hold");
    let metadata = object(json!({"n": 77}));
    must("update_metadata", store.update_metadata(&me(), &name("f"), 0, &metadata).await);
    let old = listed(store, &Query::default().filter(Filter::equals("n", true))).await;
    let new = listed(store, &Query::default().filter(Filter::equals("n", 77))).await;
    assert_eq!((old.len(), new.len()), (0, 1), "replaced metadata is what filters compare");
}

fn range(key: &str, bounds: impl RangeBounds<MetadataValue>) -> Filter {
    must("a range", Filter::range(key, bounds))
}

fn number(number: i32) -> MetadataValue {
    MetadataValue::from(number)
}

/// Times are compared to the millisecond, with both kinds of bounds.
pub async fn times_are_compared_to_the_millisecond(store: &dyn ConversationStore) {
    for (text, seconds) in [("a", 10), ("b", 20), ("c", 30)] {
        put(store, text, seconds, json!({})).await;
    }
    must("append", store.append(&me(), &name("a"), &[node_of(40)]).await);
    let query = Query::default().sort(Sort::ascending(SortKey::Id));
    let little = Duration::from_millis(1);
    let cases: [(Query, &[&str]); 8] = [
        (query.clone().created(moment(20)..), &["b", "c"]),
        (query.clone().created(moment(20) + little..), &["c"]),
        (query.clone().created(moment(20) + Duration::from_micros(1)..), &["c"]),
        (query.clone().created(..moment(20)), &["a"]),
        (query.clone().created(..=moment(20)), &["a", "b"]),
        (query.clone().created(moment(10)..moment(30)), &["a", "b"]),
        (query.clone().updated(moment(20)..), &["a", "b", "c"]),
        (query.clone().updated(moment(30)..).created(..moment(30)), &["a"]),
    ];
    for (query, expected) in cases {
        assert_eq!(listed(store, &query).await, expected, "{query:?}");
    }
}

/// Reads a list in pages of two.
async fn read_in_pages(store: &dyn ConversationStore, query: &Query) -> Vec<String> {
    let (mut found, mut after): (Vec<String>, Option<PageCursor>) = (Vec::new(), None);
    loop {
        let query = after.iter().fold(query.clone().limit(2), |query, cursor| query.after(cursor.clone()));
        let page = must("list", store.list(&me(), &query).await);
        assert!(page.conversations.len() <= 2, "a page holds no more than its limit");
        found.extend(page.conversations.into_iter().map(|summary| String::from(summary.record.id)));
        let Some(next) = page.next else { return found };
        after = Some(must("a cursor as text", next.to_string().parse()));
    }
}

/// The pages in a row are the whole list, in every order and both directions, also with equal keys.
pub async fn every_order_has_pages(store: &dyn ConversationStore) {
    let titles = [json!("b"), json!(10), json!(9), Value::Null, json!("a"), json!([]), json!(10.0)];
    for (number, title) in titles.into_iter().enumerate() {
        let metadata = if title.is_null() { json!({}) } else { json!({"title": title}) };
        put(store, &format!("chat {number}"), 10 - number as u64 / 3, metadata).await;
    }
    let query = Query::default().sort(Sort::ascending(SortKey::Metadata("title".into())));
    let by_title = listed(store, &query).await;
    let expected = [3, 2, 1, 6, 4, 0, 5].map(|number| format!("chat {number}"));
    assert_eq!(by_title, expected, "the order is: no title, numbers, strings, lists");
    for by in [SortKey::Updated, SortKey::Created, SortKey::Id, SortKey::Metadata("title".into())] {
        let ascending = Query::default().sort(Sort::ascending(by.clone()));
        let descending = Query::default().sort(Sort::descending(by.clone()));
        let up = listed(store, &ascending).await;
        assert_eq!(up.len(), 7, "every order lists all: {by:?}");
        assert_eq!(read_in_pages(store, &ascending).await, up, "pages are the whole list: {by:?}");
        let mut down = listed(store, &descending).await;
        assert_eq!(read_in_pages(store, &descending).await, down, "backwards too: {by:?}");
        down.reverse();
        assert_eq!(down, up, "descending is ascending reversed: {by:?}");
    }
}

/// A conversation that is created between two pages moves no other conversation to another page.
pub async fn pages_are_stable_under_inserts(store: &dyn ConversationStore) {
    for number in 0..9 {
        put(store, &format!("chat {number}"), 10 * (number + 1), json!({})).await;
    }
    let query = Query::default().limit(3);
    let mut page = must("list", store.list(&me(), &query).await);
    let mut found = Vec::new();
    for number in 0.. {
        found.extend(page.conversations.iter().map(|summary| summary.record.id.as_str().to_owned()));
        // One before all existing conversations, one after all, and one on a page that was read.
        for seconds in [1000 + number, number, 85] {
            put(store, &format!("new {number} {seconds}"), seconds, json!({})).await;
        }
        let Some(next) = page.next else { break };
        page = must("list", store.list(&me(), &query.clone().after(next)).await);
    }
    let old: Vec<_> = found.iter().filter(|name| name.starts_with("chat")).cloned().collect();
    let expected: Vec<_> = (0..9).rev().map(|number| format!("chat {number}")).collect();
    assert_eq!(old, expected, "every existing conversation is listed once, in order");
}

/// Conversations that are updated between two pages are listed once each, by creation and by name.
pub async fn pages_are_stable_under_updates(store: &dyn ConversationStore) {
    let names: Vec<String> = (0..9).map(|number| format!("chat {number}")).collect();
    for (number, name) in names.iter().enumerate() {
        put(store, name, 10 * number as u64, json!({})).await;
    }
    for by in [SortKey::Created, SortKey::Id] {
        let query = Query::default().sort(Sort::ascending(by.clone())).limit(2);
        let mut page = must("list", store.list(&me(), &query).await);
        let mut found = Vec::new();
        loop {
            found.extend(page.conversations.iter().map(|summary| summary.record.id.as_str().to_owned()));
            for text in ["chat 0", "chat 4", "chat 8"] {
                must("append", store.append(&me(), &name(text), &chain(None, 1)).await);
            }
            let Some(next) = page.next else { break };
            let rest = query.clone().after(next);
            assert_eq!(
                must("count", store.count(&me(), &rest).await),
                9,
                "a cursor does not change the count"
            );
            page = must("list", store.list(&me(), &rest).await);
        }
        assert_eq!(found, names, "every conversation is listed once, whatever is appended meanwhile: {by:?}");
    }
}

/// A list cannot be sorted by relevance, and a cursor is valid only for its own order.
pub async fn a_list_has_no_relevance(store: &dyn ConversationStore) {
    for text in ["a", "b"] {
        put(store, text, 1, json!({})).await;
    }
    let relevance = Query::default().sort(Sort::descending(SortKey::Relevance));
    assert_eq!(
        kind(store.list(&me(), &relevance).await),
        Some(ErrorKind::Invalid),
        "a list cannot be sorted by relevance"
    );
    let page = must("list", store.list(&me(), &Query::default().limit(1)).await);
    let next = page.next.unwrap_or_else(|| panic!("there is a second page"));
    let other = Query::default().sort(Sort::ascending(SortKey::Id)).after(next.clone());
    assert_eq!(
        kind(store.list(&me(), &other).await),
        Some(ErrorKind::Invalid),
        "a cursor is valid only for its own order"
    );
    let search = must("a text", Query::default().text("a")).after(next);
    assert_eq!(kind(store.search(&me(), &search).await), Some(ErrorKind::Invalid), "and no search");
}
