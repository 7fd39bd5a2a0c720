//! Random requests: those of the files in `requests/`, with the ids of earlier answers in their places, and with a few changes.
//!
//! A further route is a further line in a file. `{response}` in an address or a body is the id of a response that an answer had, and likewise
//! `{conversation}`, `{completion}`, `{item}`, `{tree}` (a conversation without prefix) and `{node}`.

use std::collections::BTreeMap;

use alloquy_testing::Draws;
use serde::Deserialize;
use serde_json::{Map, Value, json};

/// How many ids of a kind are remembered.
const IDS: usize = 200;

/// A request, as a file has it or as it is sent.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Drawn {
    pub(crate) method: String,
    pub(crate) path: String,
    #[serde(default)]
    pub(crate) body: Option<Value>,
}

impl Drawn {
    /// The request as a text in which places of ids can be replaced.
    pub(crate) fn replace(&self, place: &str, id: &str) -> Self {
        let body = self.body.as_ref().map(|body| {
            let text = body.to_string().replace(place, id);
            serde_json::from_str(&text).unwrap()
        });
        Self { method: self.method.clone(), path: self.path.replace(place, id), body }
    }

    pub(crate) fn has(&self, place: &str) -> bool {
        self.path.contains(place) || self.body.as_ref().is_some_and(|body| body.to_string().contains(place))
    }
}

/// The kinds of ids, and the places in requests where they go.
pub(crate) const KINDS: [(&str, &str); 7] = [
    ("approval", "{approval}"),
    ("completion", "{completion}"),
    ("conversation", "{conversation}"),
    ("item", "{item}"),
    ("node", "{node}"),
    ("response", "{response}"),
    ("tree", "{tree}"),
];

/// The ids that answers had, by their kind.
#[derive(Clone, Debug, Default)]
pub(crate) struct Ids {
    by_kind: BTreeMap<&'static str, Vec<String>>,
    /// Which one is forgotten next.
    next: usize,
}

impl Ids {
    /// Remembers the ids of an answer: of a JSON document, of server-sent events, or of lines of JSON.
    pub(crate) fn read(&mut self, text: &str) {
        for line in text.lines() {
            let line = line.strip_prefix("data: ").unwrap_or(line);
            if let Ok(value) = serde_json::from_str::<Value>(line) {
                self.read_value("", &value);
            }
        }
    }

    fn read_value(&mut self, name: &str, value: &Value) {
        match value {
            Value::String(text) => {
                if let Some(kind) = kind(name, text) {
                    self.add(kind, text);
                }
            }
            Value::Array(items) => items.iter().for_each(|item| self.read_value(name, item)),
            Value::Object(fields) => fields.iter().for_each(|(name, value)| self.read_value(name, value)),
            _ => {}
        }
    }

    fn add(&mut self, kind: &'static str, id: &str) {
        let ids = self.by_kind.entry(kind).or_default();
        if ids.iter().any(|known| known == id) {
            return;
        }
        if ids.len() < IDS {
            ids.push(id.to_owned());
        } else {
            self.next = (self.next + 1) % IDS;
            ids[self.next] = id.to_owned();
        }
    }

    /// Draws an id of a kind.
    pub(crate) fn draw(&self, kind: &str, draws: &mut Draws) -> Option<&str> {
        let ids = self.by_kind.get(kind)?;
        ids.get(draws.below(ids.len())).map(String::as_str)
    }

    /// Whether there is an id of a kind.
    pub(crate) fn has(&self, kind: &str) -> bool {
        self.by_kind.get(kind).is_some_and(|ids| !ids.is_empty())
    }

    /// All ids of all kinds.
    pub(crate) fn all(&self) -> impl Iterator<Item = (&'static str, &str)> {
        self.by_kind.iter().flat_map(|(kind, ids)| ids.iter().map(|id| (*kind, id.as_str())))
    }
}

/// Ends of addresses that no route has.
const ENDS: [&str; 8] =
    ["/", "/x", "?limit=x", "?order=up", "?a=b", "%00", "/%2e%2e/health", "?limit=1&limit=2"];

/// What kind of id a text is, if it is one.
fn kind(name: &str, text: &str) -> Option<&'static str> {
    let prefixes = [
        ("chatcmpl-", "completion"),
        ("conv_", "conversation"),
        ("resp_", "response"),
        ("msg_", "item"),
        ("fc_", "item"),
        ("fco_", "item"),
        ("rs_", "item"),
        ("mcp_", "item"),
        ("mcpl_", "item"),
        ("mcpr_", "approval"),
    ];
    for (prefix, kind) in prefixes {
        // The type `mcp_approval_response` begins as ids of items do.
        if name != "type" && text.starts_with(prefix) && text.len() > prefix.len() + 8 {
            return Some(kind);
        }
    }
    let is_raw = text.len() == 36 && text.chars().all(|sign| sign == '-' || sign.is_ascii_hexdigit());
    match name {
        _ if !is_raw => None,
        "conversation" | "conversation_id" => Some("tree"),
        "node" | "nodes" | "head" | "parent" | "at" | "path" => Some("node"),
        // The id of a conversation in a list, or of a node in a tree.
        _ => Some(if text.ends_with(['0', '2', '4', '6', '8', 'a', 'c', 'e']) { "tree" } else { "node" }),
    }
}

/// The examples, and the words of which changes are made.
#[derive(Debug)]
pub(crate) struct Grammar {
    pub(crate) examples: Vec<Drawn>,
    names: Vec<String>,
    values: Vec<Value>,
}

impl Grammar {
    /// Reads the files.
    pub(crate) fn read() -> Self {
        let mut grammar = Self { examples: Vec::new(), names: Vec::new(), values: hostile() };
        let mut files: Vec<_> = std::fs::read_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/requests"))
            .unwrap()
            .map(|file| file.unwrap().path())
            .collect();
        // Another order would draw other requests.
        files.sort();
        for file in files {
            let text = std::fs::read_to_string(&file).unwrap();
            let examples: Vec<Drawn> =
                serde_json::from_str(&text).unwrap_or_else(|error| panic!("{file:?}: {error}"));
            for example in &examples {
                grammar.learn(example.body.as_ref().unwrap_or(&Value::Null));
            }
            grammar.examples.extend(examples);
        }
        grammar
    }

    fn learn(&mut self, value: &Value) {
        match value {
            Value::Object(fields) => {
                for (name, value) in fields {
                    if !self.names.contains(name) {
                        self.names.push(name.clone());
                    }
                    self.learn(value);
                }
            }
            Value::Array(items) => items.iter().for_each(|item| self.learn(item)),
            _ => {}
        }
        if !self.values.contains(value) {
            self.values.push(value.clone());
        }
    }

    /// Draws a request, most of them with changes.
    pub(crate) fn draw(&self, draws: &mut Draws, ids: &Ids) -> Drawn {
        let mut drawn = self.examples[draws.below(self.examples.len())].clone();
        if let Some(body) = &mut drawn.body {
            for _ in 0..draws.below(3) {
                self.change(body, draws);
            }
        }
        if draws.below(30) == 0 {
            drawn.method = (*one_of(draws, &["GET", "POST", "PUT", "DELETE", "PATCH"])).to_owned();
        }
        if draws.below(30) == 0 {
            drawn.path += *one_of(draws, &ENDS);
        }
        for (kind, place) in KINDS {
            if drawn.has(place) {
                let id = if draws.below(20) == 0 { None } else { ids.draw(kind, draws) };
                drawn = drawn.replace(place, id.unwrap_or("none"));
            }
        }
        drawn
    }

    /// Changes one place of a value.
    fn change(&self, value: &mut Value, draws: &mut Draws) {
        let inside = draws.below(3) > 0;
        match value {
            Value::Object(fields) if inside && !fields.is_empty() => {
                let place = draws.below(fields.len());
                if let Some((_, value)) = fields.iter_mut().nth(place) {
                    self.change(value, draws);
                }
            }
            Value::Array(items) if inside && !items.is_empty() => {
                let place = draws.below(items.len());
                self.change(&mut items[place], draws);
            }
            Value::Object(fields) => self.change_fields(fields, draws),
            Value::Array(items) => self.change_items(items, draws),
            _ => *value = self.value(draws),
        }
    }

    fn change_fields(&self, fields: &mut Map<String, Value>, draws: &mut Draws) {
        if draws.below(2) == 0 {
            let place = draws.below(fields.len());
            if let Some(name) = fields.keys().nth(place).cloned() {
                fields.remove(&name);
            }
        } else {
            fields.insert(one_of(draws, &self.names).clone(), self.value(draws));
        }
    }

    fn change_items(&self, items: &mut Vec<Value>, draws: &mut Draws) {
        match draws.below(3) {
            0 => drop(items.pop()),
            1 => items.extend(items.first().cloned()),
            _ => items.push(self.value(draws)),
        }
    }

    fn value(&self, draws: &mut Draws) -> Value {
        one_of(draws, &self.values).clone()
    }
}

fn one_of<'a, T>(draws: &mut Draws, all: &'a [T]) -> &'a T {
    &all[draws.below(all.len())]
}

/// Values that programs do not expect.
fn hostile() -> Vec<Value> {
    let mut deep = json!([]);
    for _ in 0..40 {
        deep = json!([deep]);
    }
    vec![
        Value::Null,
        json!(true),
        json!(false),
        json!(0),
        json!(-1),
        json!(1),
        json!(1e300),
        json!(0.5),
        json!(u64::MAX),
        json!(i64::MIN),
        json!(""),
        json!("\u{0}"),
        json!("\u{202e}x"),
        json!("none"),
        json!("x".repeat(3000)),
        json!("http://127.0.0.1:1/x.png"),
        json!("file:///etc/passwd"),
        json!("data:image/png;base64,!"),
        json!({"$ref": "#"}),
        deep,
    ]
}
