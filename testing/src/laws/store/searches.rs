//! Searches: their hits, the order of these, and pages.

use alloquy_core::query::{Filter, MAX_RANKED, PageCursor, Sort, SortKey};
use alloquy_core::search::{Ranking, SearchHit};
use alloquy_core::store::{ConversationRecord, ConversationStore};
use alloquy_core::{Content, ConversationId, ErrorKind, Message, Node, Preface, Query, Role};
use serde_json::json;

use super::conversations::created;
use super::outcomes::{kind, me, must, name};
use super::samples::{node_of, object};

async fn say(store: &dyn ConversationStore, id: &ConversationId, text: &str) -> Node {
    let node = Node::new(None, Message::user(text));
    must("append", store.append(&me(), id, std::slice::from_ref(&node)).await);
    node
}

fn about(text: &str) -> Query {
    must("a text", Query::default().text(text))
}

async fn hits(store: &dyn ConversationStore, query: &Query) -> Vec<SearchHit> {
    must("search", store.search(&me(), query).await).hits
}

/// Words, phrases and prefixes are found on every branch. A hit has its conversation, its role and a snippet.
pub async fn words_are_found_on_every_branch(store: &dyn ConversationStore) {
    let id = created(store, "search").await;
    let root = say(store, &id, "Which tea is green?").await;
    let answer = Node::new(Some(root.id), Message::assistant("Sencha is a green tea, from Japan."));
    let parts =
        vec![Content::Thinking("matcha".to_owned()), Content::Text("Gyokuro; can't be hurried.".to_owned())];
    let other = Node::new(Some(root.id), Message::new(Role::Assistant, parts));
    must("append", store.append(&me(), &id, &[answer.clone(), other.clone()]).await);
    must("set_head", store.set_head(&me(), &id, None, Some(other.id)).await);
    let cases: [(&str, &[&Node]); 14] = [
        ("green", &[&root, &answer]),
        ("GREEN tea", &[&root, &answer]),
        ("\"green tea\"", &[&answer]),
        ("\"tea green\"", &[]),
        ("\"tea is green\"", &[&root]),
        ("gre", &[]),
        ("gre*", &[&root, &answer]),
        ("\"green tea\" jap*", &[&answer]),
        ("green gyokuro", &[]),
        ("can't", &[&other]),
        ("hurried.", &[&other]),
        ("matcha", &[]),
        ("\"green", &[&root, &answer]),
        ("coffee", &[]),
    ];
    for (text, expected) in cases {
        let mut found: Vec<_> = hits(store, &about(text)).await.into_iter().map(|hit| hit.node).collect();
        let mut wanted: Vec<_> = expected.iter().map(|node| node.id).collect();
        found.sort();
        wanted.sort();
        assert_eq!(found, wanted, "{text:?}");
        let count = must("count", store.count(&me(), &about(text)).await);
        assert_eq!(
            count,
            usize::from(!expected.is_empty()),
            "conversations are counted, not nodes: {text:?}"
        );
    }
    let hit = &hits(store, &about("jap*")).await[0];
    assert_eq!(
        (hit.conversation.as_str(), hit.role),
        ("search", Role::Assistant),
        "a hit has its conversation and its role"
    );
    let marked: Vec<_> =
        hit.snippet.highlights.iter().map(|place| &hit.snippet.text[place.clone()]).collect();
    assert_eq!(marked, ["Japan"], "a snippet marks what was found");
    assert!(hit.score > 0.0, "a hit has a score");
}

/// Case and accents are ignored in every script, and scripts without spaces are searched too.
pub async fn every_script_is_searched(store: &dyn ConversationStore) {
    let id = created(store, "scripts").await;
    let cases = [
        ("Die Straße nach Zürich", &["STRASSE", "zurich", "zu\u{308}rich", "\"strasse nach\""][..]),
        ("ΟΔΥΣΣΕΎΣ πολύτροπος", &["οδυσσευς", "πολυτροπ*"]),
        ("Ёлка в лесу", &["елка", "ЛЕСУ"]),
        ("İstanbul'da", &["istanbul"]),
        ("東京都庁へ行きました。", &["東京", "京都", "都庁", "庁", "行き*", "\"東京都庁\""]),
        ("我喜欢喝绿茶,不喜欢咖啡", &["绿茶", "喜欢", "咖啡", "茶"]),
        ("コンピューターを買う", &["コンピューター", "ピュー", "買う"]),
        ("한국어를 배워요", &["한국어", "배워"]),
        ("ฉันชอบชาเขียว", &["ชาเขียว", "ชอบ"]),
        ("שָׁלוֹם עולם", &["שלום"]),
        ("مَرْحَبًا بالعالم", &["مرحبا"]),
        ("हिन्दी में चाय", &["हिन्दी", "चाय"]),
        ("Ｆｕｌｌｗｉｄｔｈ ①", &["fullwidth", "1"]),
    ];
    for (said, texts) in cases {
        let node = say(store, &id, said).await;
        for text in texts {
            let found: Vec<_> = hits(store, &about(text)).await.into_iter().map(|hit| hit.node).collect();
            assert_eq!(found, [node.id], "{text:?} is found in {said:?} and nowhere else");
        }
    }
    for text in ["京東", "庁都", "茶绿", "हिन", "zur"] {
        assert!(hits(store, &about(text)).await.is_empty(), "{text:?} is found nowhere");
    }
}

/// A search finds only messages of conversations that match the query.
pub async fn a_search_obeys_the_query(store: &dyn ConversationStore) {
    for (text, user) in [("one", "ann"), ("two", "bob"), ("three", "ann")] {
        let mut record = ConversationRecord::new(name(text), Preface::default());
        record.metadata = object(json!({"user": user}));
        must("create", store.create(&me(), &record).await);
        say(store, &record.id, "a cup of tea").await;
    }
    let query = about("tea").filter(Filter::equals("user", "ann"));
    let mut found: Vec<String> =
        hits(store, &query).await.into_iter().map(|hit| hit.conversation.into()).collect();
    found.sort();
    assert_eq!(found, ["one", "three"], "a search obeys filters of metadata");
    let page = must("list", store.list(&me(), &query).await);
    assert_eq!(page.conversations.len(), 2, "and a list obeys the text");
    must("delete", store.delete(&me(), &name("one")).await);
    assert_eq!(hits(store, &query).await.len(), 1, "a deleted conversation is not found");
    let later = about("tea").created(std::time::SystemTime::now() + std::time::Duration::from_secs(60)..);
    assert!(hits(store, &later).await.is_empty(), "a search obeys the times");
}

/// By relevance the better hit is first, by creation the newer one.
pub async fn hits_are_by_relevance_or_newest_first(store: &dyn ConversationStore) {
    let id = created(store, "order").await;
    let mut nodes = Vec::new();
    let texts =
        ["tea, tea and tea", "tea", "some long-winded words about coffee that mention tea in passing"];
    for (number, text) in texts.iter().enumerate() {
        let mut node = node_of(number as u64);
        node.message = Message::user(*text);
        must("append", store.append(&me(), &id, std::slice::from_ref(&node)).await);
        nodes.push(node.id);
    }
    let found = hits(store, &about("tea")).await;
    let ids: Vec<_> = found.iter().map(|hit| hit.node).collect();
    assert_eq!(ids, nodes, "the better hit is first");
    assert!(found.windows(2).all(|pair| pair[0].score > pair[1].score), "by its score");
    let newest = about("tea").sort(Sort::descending(SortKey::Created));
    let ids: Vec<_> = hits(store, &newest).await.into_iter().map(|hit| hit.node).collect();
    assert!(ids.iter().eq(nodes.iter().rev()), "by creation the newest is first");
}

/// The pages in a row are all hits, also while messages are appended.
pub async fn hits_have_pages(store: &dyn ConversationStore) {
    let id = created(store, "pages").await;
    for number in 0..7 {
        say(store, &id, &format!("{} page", "word ".repeat(number % 3))).await;
    }
    for by in [SortKey::Relevance, SortKey::Created] {
        let query = about("page").sort(Sort::descending(by.clone()));
        let whole: Vec<_> = hits(store, &query).await.into_iter().map(|hit| hit.node).collect();
        let (mut found, mut after): (Vec<_>, Option<PageCursor>) = (Vec::new(), None);
        loop {
            let part = after.iter().fold(query.clone().limit(2), |query, cursor| query.after(cursor.clone()));
            let page = must("search", store.search(&me(), &part).await);
            found.extend(page.hits.iter().map(|hit| hit.node));
            say(store, &id, "page page page").await;
            let Some(next) = page.next else { break };
            after = Some(must("a cursor as text", next.to_string().parse()));
        }
        assert_eq!(found, whole, "pages are all hits, whatever is appended meanwhile: {by:?}");
    }
    let many: Vec<Node> = (0..MAX_RANKED).map(|_| Node::new(None, Message::user("page"))).collect();
    must("append", store.append(&me(), &id, &many).await);
    let page = must("search", store.search(&me(), &about("page")).await);
    assert_eq!(
        (page.hits.len(), page.ranked),
        (MAX_RANKED, Ranking::Newest(MAX_RANKED)),
        "an answer reports how many hits were ranked"
    );
    let newest =
        must("search", store.search(&me(), &about("page").sort(Sort::descending(SortKey::Created))).await);
    assert!(
        newest.hits.len() > MAX_RANKED && newest.ranked == Ranking::All,
        "by creation there is no such limit"
    );
}

/// A message that several conversations share is found in each of them, in the order of their names, also page by page.
pub async fn shared_messages_are_found_by_name(store: &dyn ConversationStore) {
    let mut shared = node_of(1);
    shared.message = Message::user("one page");
    // The order of creation is neither the order of the names nor that of numbers.
    let made = ["m", "b", "Z", "z", "10", "9", "c", "a", "2", "M", "k", "B"];
    for id in made {
        let id = created(store, id).await;
        must("append", store.append(&me(), &id, std::slice::from_ref(&shared)).await);
    }
    let mut sorted = made;
    sorted.sort_unstable();
    let query = about("page");
    let whole = hits(store, &query).await;
    let whole: Vec<_> = whole.iter().map(|hit| hit.conversation.as_str()).collect();
    assert_eq!(whole, sorted, "hits that are otherwise equal are in the order of their conversations");
    for limit in [1, 3, 5] {
        let mut found = Vec::new();
        let mut part = query.clone().limit(limit);
        loop {
            let page = must("search", store.search(&me(), &part).await);
            found.extend(page.hits.iter().map(|hit| hit.conversation.to_string()));
            let Some(next) = page.next else { break };
            part = query.clone().limit(limit).after(next);
        }
        assert_eq!(found, sorted, "pages of {limit} are all hits");
    }
}

/// A search needs a word, and is sorted by relevance or newest first.
pub async fn a_search_needs_a_text(store: &dyn ConversationStore) {
    let error = kind(store.search(&me(), &Query::default()).await);
    assert_eq!(error, Some(ErrorKind::Invalid), "a search needs a text");
    let oldest = about("tea").sort(Sort::ascending(SortKey::Created));
    let by_id = about("tea").sort(Sort::descending(SortKey::Id));
    for query in [oldest, by_id] {
        let error = kind(store.search(&me(), &query).await);
        assert_eq!(error, Some(ErrorKind::Invalid), "a search is sorted by relevance or newest first");
    }
    for empty in ["", " ", "...", "\"\"", "*", "\u{1F980}"] {
        assert_eq!(kind(Query::default().text(empty)), Some(ErrorKind::Invalid), "{empty:?} has no word");
    }
}
