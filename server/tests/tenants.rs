//! Two tenants of one server: whatever ids of the other one sends, the answer is that for an id which never was, no text of the other's is in it,
//! and nothing of the other's changes.
//!
//! `ALLOQUY_RANDOM_REQUESTS=100000 cargo test -p alloquy-server --test tenants` sends as many as are named.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)] // a test may panic

mod shared;

use std::collections::BTreeMap;
use std::sync::Arc;

use alloquy_server::{KeyFile, KeyLimits, OpenedModel, ServedModel, Server};
use alloquy_storage::SnapshotBucket;
use alloquy_testing::Draws;
use serde_json::{Value, json};

use shared::grammar::{Drawn, Grammar, Ids, KINDS};
use shared::host_tools::sums;
use shared::noted::NotedStore;
use shared::saved::CountedSnapshots;
use shared::sending::{Outcome, Sending};
use shared::{ObedientModel, TestServer};

/// How many requests are sent by default.
const REQUESTS: usize = 500;
/// A word in every text of Ann's.
const MARK: &str = "amaranthine";

/// Two servers of one kind. An id of the second is one that never was at the first.
struct Servers {
    first: TestServer,
    /// The store of the first one.
    store: Arc<NotedStore>,
    second: TestServer,
    ann: String,
    bob: String,
}

impl Servers {
    async fn start() -> Self {
        let mut keys = KeyFile::default();
        let mut key = |owner: &str| keys.add(owner.parse().unwrap(), KeyLimits::default()).unwrap();
        let (ann, bob) = (key("ann"), key("bob"));
        let store = Arc::new(NotedStore::default());
        let builder = async || {
            let model = OpenedModel::new(ObedientModel).snapshots(CountedSnapshots);
            let place = Arc::new(SnapshotBucket::in_memory().await.unwrap());
            let builder = Server::builder().model(ServedModel::opened("tea", model)).snapshots(place);
            builder.tools(sums().0).keys(keys.clone())
        };
        let first = TestServer::start(builder().await.store(store.clone())).await;
        Self { first, store, second: TestServer::start(builder().await).await, ann, bob }
    }
}

/// The example with a word in all its texts.
fn marked(example: &Drawn, mark: &str) -> Drawn {
    let mut example = example.clone();
    let Some(body) = &example.body else { return example };
    let text = body.to_string();
    let text = text.replace("say ", &format!("say {mark} ")).replace("Be brief.", mark);
    let text = text.replace("\"b\"", &format!("\"{mark}\"")).replace("\"Hi\"", &format!("\"{mark}\""));
    example.body = Some(serde_json::from_str(&text).unwrap());
    example
}

/// Sends every example that removes nothing a few times, and returns the ids that came back.
async fn fill(grammar: &Grammar, sending: Sending<'_>, mark: &str, draws: &mut Draws) -> Ids {
    let mut ids = Ids::default();
    for _ in 0..3 {
        for example in &grammar.examples {
            if example.method == "DELETE" || example.path.contains("/events") {
                continue;
            }
            let mut drawn = marked(example, mark);
            for (kind, place) in KINDS {
                drawn = drawn.replace(place, ids.draw(kind, draws).unwrap_or("none"));
            }
            let outcome = sending.send(drawn).await;
            if outcome.status < 300 {
                ids.read(&outcome.text);
            }
        }
    }
    ids
}

/// What an answer says. The events of a response are kept for a while, and later its texts are sent in one piece each, so the pieces of a stream
/// are put together.
fn content(text: &str) -> String {
    let events: Vec<Value> = text
        .lines()
        .filter_map(|line| line.strip_prefix("data: "))
        .map(|data| serde_json::from_str(data).unwrap())
        .collect();
    let Some(last) = events.last() else { return text.to_owned() };
    let pieces: String = events.iter().filter_map(|event| event["delta"].as_str()).collect();
    let response = &last["response"];
    assert!(response["id"].is_string(), "{last}");
    json!([pieces, last["type"], response["id"], response["status"], response["output"]]).to_string()
}

/// What all addresses with ids answer.
async fn read_all(grammar: &Grammar, sending: Sending<'_>, ids: &Ids) -> BTreeMap<String, (u16, String)> {
    let mut answers = BTreeMap::new();
    for example in &grammar.examples {
        if example.method != "GET" || example.path.contains("/events") {
            continue;
        }
        for (kind, id) in ids.all() {
            let place = format!("{{{kind}}}");
            if example.has(&place) {
                let drawn = example.replace(&place, id);
                if KINDS.iter().any(|(_, place)| drawn.has(place)) {
                    continue;
                }
                let outcome = sending.send(drawn).await;
                answers.insert(outcome.drawn.path.clone(), (outcome.status, content(&outcome.text)));
            }
        }
    }
    answers
}

/// An id within one's own conversation, of a node that is foreign: `resp_OWN_FOREIGN` or `msg_OWN_FOREIGN_0`.
fn mixed(own: &str, foreign: &str) -> Option<String> {
    let own: Vec<&str> = own.split('_').collect();
    let foreign: Vec<&str> = foreign.split('_').collect();
    if own.len() < 3 || foreign.len() < 3 {
        return None;
    }
    Some([&own[..2], &foreign[2..]].concat().join("_"))
}

/// What an id begins with, and how many parts it has.
fn form(id: &str) -> (&str, usize) {
    (id.split('_').next().unwrap_or(id), id.split('_').count())
}

/// A text in which the ids that were sent, and their parts, are one word.
fn without(text: &str, id: &str) -> String {
    let mut text = text.replace(id, "ID");
    for part in id.split(['_', ':', '.']).filter(|part| part.len() >= 12) {
        text = text.replace(part, "PART");
    }
    text
}

struct Attack<'a> {
    grammar: &'a Grammar,
    servers: &'a Servers,
    anns: &'a Ids,
    ghosts: &'a Ids,
    bobs: Ids,
    secrets: Vec<String>,
}

impl Attack<'_> {
    /// Sends one request: with an id of Ann's, and again with one that never was. Returns whether there was a place for an id.
    async fn send(&mut self, draws: &mut Draws) -> bool {
        let example = &self.grammar.examples[draws.below(self.grammar.examples.len())];
        let mut places = KINDS.to_vec();
        places.retain(|(_, place)| example.has(place));
        let sending = Sending::with_key(&self.servers.first, &self.servers.bob);
        let mut ids = None;
        if !places.is_empty() {
            let (kind, place) = places[draws.below(places.len())];
            ids = self.ids(kind, draws).map(|ids| (place, ids));
        }
        let Some((place, (foreign, unknown))) = ids else {
            // Lists and the like.
            let answer = sending.send(self.with_own(example, "", draws)).await;
            self.check(&answer, "none");
            return false;
        };
        let drawn = self.with_own(example, place, draws);
        let answer = sending.send(drawn.replace(place, &foreign)).await;
        let expected = sending.send(drawn.replace(place, &unknown)).await;
        self.check(&answer, &foreign);
        compare(&answer, &foreign, &expected, &unknown);
        self.bobs.read(&expected.text);
        true
    }

    /// An id of Ann's and one that never was, both at times within an id of Bob's. They have one form: what an answer says of a form
    /// says nothing of what is stored.
    fn ids(&self, kind: &str, draws: &mut Draws) -> Option<(String, String)> {
        let foreign = self.anns.draw(kind, draws)?;
        let mut ghosts: Vec<&str> =
            self.ghosts.all().filter(|(other, _)| *other == kind).map(|(_, id)| id).collect();
        ghosts.retain(|id| form(id) == form(foreign));
        let other = never_was(foreign);
        let unknown = if ghosts.is_empty() { other.as_str() } else { ghosts[draws.below(ghosts.len())] };
        if unknown == foreign {
            return None;
        }
        if draws.below(3) == 0
            && let Some(own) = self.bobs.draw(kind, draws)
            && let (Some(foreign), Some(unknown)) = (mixed(own, foreign), mixed(own, unknown))
        {
            return Some((foreign, unknown));
        }
        Some((foreign.to_owned(), unknown.to_owned()))
    }

    /// The request with Bob's ids in all places but one.
    fn with_own(&self, example: &Drawn, except: &str, draws: &mut Draws) -> Drawn {
        let mut drawn = example.clone();
        for (kind, place) in KINDS {
            if place != except {
                drawn = drawn.replace(place, self.bobs.draw(kind, draws).unwrap_or("none"));
            }
        }
        drawn
    }

    /// Nothing of Ann's is in an answer, but for the id that was sent.
    fn check(&self, answer: &Outcome, sent: &str) {
        assert!(!answer.text.contains(MARK), "{answer:?}");
        let text = without(&answer.text, sent);
        for secret in &self.secrets {
            assert!(!text.contains(secret), "{secret} is in {answer:?}");
        }
    }
}

/// The answer for another's id is that for an id which never was.
fn compare(answer: &Outcome, foreign: &str, expected: &Outcome, unknown: &str) {
    assert_eq!(answer.status, expected.status, "{answer:?}\n{expected:?}");
    assert_eq!(answer.headers, expected.headers, "{answer:?}\n{expected:?}");
    if answer.status >= 400 {
        let (found, wanted) = (without(&answer.text, foreign), without(&expected.text, unknown));
        assert_eq!(found, wanted, "{answer:?}\n{expected:?}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ids_of_another_are_ids_that_never_were() {
    let wanted = std::env::var("ALLOQUY_RANDOM_REQUESTS").map_or(REQUESTS, |text| text.parse().unwrap());
    let grammar = Grammar::read();
    let servers = Servers::start().await;
    let mut draws = Draws::default();
    let ann = Sending::with_key(&servers.first, &servers.ann);
    let bob = Sending::with_key(&servers.first, &servers.bob);
    let anns = fill(&grammar, ann, MARK, &mut draws).await;
    let bobs = fill(&grammar, bob, "plain", &mut draws).await;
    let ghosts =
        fill(&grammar, Sending::with_key(&servers.second, &servers.ann), "foreign", &mut draws).await;
    let before = read_all(&grammar, ann, &anns).await;
    assert!(before.values().any(|(_, text)| text.contains(MARK)), "nothing of Ann's is marked");
    let mut secrets: Vec<String> = anns.all().map(|(_, id)| id.to_owned()).collect();
    // The id of a call is what its model wrote, and may be the same for both.
    secrets.retain(|id| bobs.all().all(|(_, other)| other != id));
    let mut attack =
        Attack { grammar: &grammar, servers: &servers, anns: &anns, ghosts: &ghosts, bobs, secrets };
    let mut sent = 0;
    for _ in 0..wanted {
        sent += usize::from(attack.send(&mut draws).await);
    }
    assert!(sent > wanted / 4, "only {sent} requests had places for ids");
    for (path, answer) in read_all(&grammar, ann, &anns).await {
        assert_eq!(before.get(&path), Some(&answer), "{path} has changed");
    }
}

/// An id of the same form as another one, which never was: the last digits of its parts are others.
fn never_was(id: &str) -> String {
    let mut parts = Vec::new();
    for part in id.split('_') {
        let mut part = part.to_owned();
        if part.len() >= 12 {
            let last = part.pop();
            part.push(if last == Some('0') { '1' } else { '0' });
        }
        parts.push(part);
    }
    parts.join("_")
}

/// An answer, and what was asked of the store for it.
async fn noted(servers: &Servers, drawn: Drawn) -> (Outcome, Vec<&'static str>) {
    servers.store.take_calls();
    let answer = Sending::with_key(&servers.first, &servers.bob).send(drawn).await;
    (answer, servers.store.take_calls())
}

#[tokio::test]
async fn an_id_of_another_takes_as_many_reads_as_one_that_never_was() {
    let mut grammar = Grammar::read();
    // What runs in the background reads at times of its own.
    grammar.examples.retain(|example| example.body.as_ref().is_none_or(|body| body["background"] != true));
    let servers = Servers::start().await;
    let mut draws = Draws::default();
    let anns = fill(&grammar, Sending::with_key(&servers.first, &servers.ann), MARK, &mut draws).await;
    let bobs = fill(&grammar, Sending::with_key(&servers.first, &servers.bob), "plain", &mut draws).await;
    let mut compared = 0;
    for example in &grammar.examples {
        for (kind, place) in KINDS {
            let (true, Some(foreign)) = (example.has(place), anns.draw(kind, &mut draws)) else { continue };
            let unknown = &never_was(foreign);
            let mut drawn = example.clone();
            for (other, other_place) in KINDS.iter().filter(|(other, _)| *other != kind) {
                drawn = drawn.replace(other_place, bobs.draw(other, &mut draws).unwrap_or("none"));
            }
            let (answer, reads) = noted(&servers, drawn.replace(place, foreign)).await;
            let (expected, expected_reads) = noted(&servers, drawn.replace(place, unknown)).await;
            compare(&answer, foreign, &expected, unknown);
            if answer.status >= 400 {
                assert_eq!(reads, expected_reads, "{answer:?}\n{expected:?}");
                compared += 1;
            }
        }
    }
    assert!(compared > 30, "only {compared} requests were refused for their ids");
}

fn request(method: &str, path: &str, body: Option<Value>) -> Drawn {
    Drawn { method: method.to_owned(), path: format!("/v1/alloquy/{path}"), body }
}

#[tokio::test]
async fn names_and_documents_of_another_are_free() {
    let servers = Servers::start().await;
    let ann = Sending::with_key(&servers.first, &servers.ann);
    let bob = Sending::with_key(&servers.first, &servers.bob);
    // The id of an imported conversation is made of its text, so it is the same for both.
    let document = json!({"format": "markdown", "document": "## User\n\nHi\n\n## Assistant\n\nHello!\n"});
    let mut answers = Vec::new();
    for (sending, text) in [(ann, MARK), (bob, "plain")] {
        let named = sending.send(request("POST", "conversations", Some(json!({"name": "tea"})))).await;
        let imported = sending.send(request("POST", "import", Some(document.clone()))).await;
        let said = json!({"text": format!("say {text}")});
        let turn = sending.send(request("POST", "conversations/conv_tea/turns", Some(said))).await;
        assert!(imported.text.contains(r#""refused":[]"#), "{imported:?}");
        answers.push([named.status, imported.status, turn.status]);
    }
    assert_eq!(answers[0], answers[1]);
    assert!(answers[0].iter().all(|status| *status < 300), "{answers:?}");
    let export = request("GET", "conversations/conv_tea/export", None);
    assert!(!bob.send(export.clone()).await.text.contains(MARK));
    let removal = request("DELETE", "conversations/conv_tea", None);
    assert_eq!(bob.send(removal).await.status, 200);
    assert!(ann.send(export).await.text.contains(MARK));
}
