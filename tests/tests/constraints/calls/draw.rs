//! Random tools, and arguments that are valid for them.

use alloquy_core::ToolSpec;
use serde_json::{Map, Value, json};

/// Draws from a seed.
#[derive(Debug)]
pub(super) struct Draw {
    state: u64,
}

const NAMES: [&str; 6] = ["get_weather", "find", "now", "a.b", "x-1", "Send2"];
const KEYS: [&str; 7] = ["city", "unit", "Days", "x_y", "to", "list", "z9"];
const SYMBOLS: [&str; 16] =
    ["a", "B", "7", " ", "\n", "\"", "\\", "é", "😀", "<", "</", "{", "]", "'", "/", ","];

impl Draw {
    pub(super) fn new(seed: u64) -> Self {
        Self { state: seed | 1 }
    }

    pub(super) fn below(&mut self, bound: usize) -> usize {
        self.state =
            self.state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.state >> 33) as usize % bound.max(1)
    }

    fn chance(&mut self) -> bool {
        self.below(2) == 0
    }

    pub(super) fn tools(&mut self) -> Vec<ToolSpec> {
        let first = self.below(NAMES.len());
        let count = 1 + self.below(3);
        let names: Vec<_> = NAMES.iter().cycle().skip(first).take(count).collect();
        names.into_iter().map(|name| ToolSpec::new(*name, "A tool", self.parameters())).collect()
    }

    fn parameters(&mut self) -> Value {
        let mut schema = self.object(2);
        schema["$defs"] = json!({"size": {"type": "object", "properties": {"w": {"type": "integer"}}, "additionalProperties": false}});
        schema
    }

    fn object(&mut self, depth: usize) -> Value {
        let mut properties = Map::new();
        let mut required = Vec::new();
        let first = self.below(KEYS.len());
        let count = self.below(4);
        for key in KEYS.iter().cycle().skip(first).take(count) {
            properties.insert((*key).to_owned(), self.schema(depth));
            required.extend(Some(json!(key)).filter(|_| self.chance()));
        }
        json!({"type": "object", "properties": properties, "required": required, "additionalProperties": false})
    }

    fn schema(&mut self, depth: usize) -> Value {
        let kinds = if depth > 0 { 15 } else { 12 };
        match self.below(kinds) {
            0 => json!({"type": "string", "maxLength": 6, "description": "A text"}),
            1 => json!({"type": "string", "minLength": 1, "maxLength": 4}),
            2 => json!({"type": "string", "enum": ["celsius", "fahrenheit", "a b"]}),
            3 => json!({"type": "integer", "minimum": -5, "maximum": 300}),
            4 => json!({"type": "number"}),
            5 => json!({"type": "boolean"}),
            6 => json!({"type": ["string", "null"], "maxLength": 5}),
            7 => json!({"anyOf": [{"type": "integer"}, {"type": "null"}]}),
            8 => json!({"enum": [1, 2, 30]}),
            9 => json!({"type": "string", "format": "date"}),
            10 => json!({"type": "string", "pattern": "^[a-z]{1,3}[0-9]$"}),
            11 => json!({"const": "fixed"}),
            12 => json!({"type": "array", "items": self.schema(depth - 1), "minItems": 1, "maxItems": 3}),
            13 => json!({"$ref": "#/$defs/size"}),
            _ => self.object(depth - 1),
        }
    }

    /// A value that `schema` accepts.
    pub(super) fn value(&mut self, schema: &Value, root: &Value) -> Value {
        if let Some(reference) = schema.get("$ref") {
            return self.value(root.pointer(&reference.as_str().unwrap()[1..]).unwrap(), root);
        }
        if let Some(values) = schema.get("enum").and_then(Value::as_array) {
            return values[self.below(values.len())].clone();
        }
        if let Some(value) = schema.get("const") {
            return value.clone();
        }
        if schema.get("anyOf").is_some() {
            return if self.chance() { Value::Null } else { json!(self.below(100)) };
        }
        match schema["type"].as_str() {
            None if self.chance() => Value::Null,
            Some("string") | None => self.string(schema),
            Some("integer") => json!(self.below(300) as i64 - 5),
            Some("number") => json!(self.below(4000) as f64 / 8.0 - 100.0),
            Some("boolean") => json!(self.chance()),
            Some("array") => {
                let count = 1 + self.below(3);
                (0..count).map(|_| self.value(&schema["items"], root)).collect()
            }
            _ => self.fields(schema, root),
        }
    }

    fn fields(&mut self, schema: &Value, root: &Value) -> Value {
        let required = schema["required"].as_array().cloned().unwrap_or_default();
        let mut fields = Map::new();
        for (key, schema) in schema["properties"].as_object().unwrap() {
            if required.contains(&json!(key)) || self.chance() {
                fields.insert(key.clone(), self.value(schema, root));
            }
        }
        fields.into()
    }

    fn string(&mut self, schema: &Value) -> Value {
        if schema.get("format").is_some() {
            return json!("2024-02-29");
        }
        if schema.get("pattern").is_some() {
            return json!("ab7");
        }
        let most = schema["maxLength"].as_u64().unwrap() as usize / 2;
        let count = 1 + self.below(most);
        (0..count).map(|_| SYMBOLS[self.below(SYMBOLS.len())]).collect::<String>().into()
    }
}
