//! JSON Schemas at random. Each bounds its strings, lists and depth, so that a few hundred tokens hold every value
//! that it accepts.

use serde_json::{Map, Value, json};

use crate::draws::Draws;

const NAMES: [&str; 10] = ["name", "age", "tags", "city", "is ok", "größe", "a\"b", "items", "$cost", "x/y"];

const WORDS: [&str; 6] = ["red", "green", "deep blue", "", "a\"quote", "ünïcode 🦀"];

/// Formats with their longest sensible text.
const FORMATS: [(&str, usize); 10] = [
    ("date", 10),
    ("time", 14),
    ("date-time", 25),
    ("duration", 12),
    ("email", 16),
    ("hostname", 16),
    ("ipv4", 15),
    ("ipv6", 39),
    ("uuid", 36),
    ("uri", 24),
];

/// Returns a schema, half the time with a definition that is referred to.
pub(crate) fn schema(draws: &mut Draws) -> Value {
    let mut schema = object(draws, 2);
    if draws.chance(50) {
        let definition = value(draws, 1);
        schema["$defs"] = json!({"shared": definition});
        schema["properties"]["ref"] = json!({"$ref": "#/$defs/shared"});
        schema["properties"]["refs"] = list(draws, &json!({"$ref": "#/$defs/shared"}));
        schema["required"] = json!(["ref"]);
    }
    schema
}

fn value(draws: &mut Draws, depth: usize) -> Value {
    match draws.below(if depth == 0 { 7 } else { 10 }) {
        0 => json!({"type": "boolean"}),
        1 => integer(draws),
        2 => number(draws),
        3 => string(draws),
        4 => {
            let (format, longest) = FORMATS[draws.below(FORMATS.len())];
            json!({"type": "string", "format": format, "maxLength": longest})
        }
        5 => json!({"enum": [draws.pick(&WORDS), 3, null, 1.5, true, ["a", 1]]}),
        6 => json!({"const": draws.pick(&WORDS)}),
        7 => object(draws, depth - 1),
        8 => {
            let items = value(draws, depth - 1);
            list(draws, &items)
        }
        _ => either(draws, depth - 1),
    }
}

fn object(draws: &mut Draws, depth: usize) -> Value {
    let mut properties = Map::new();
    for _ in 0..=draws.below(3) {
        properties.insert(draws.pick(&NAMES).to_owned(), value(draws, depth));
    }
    let required: Vec<_> = properties.keys().filter(|_| draws.chance(60)).cloned().collect();
    json!({"type": "object", "properties": properties, "required": required, "additionalProperties": false})
}

fn list(draws: &mut Draws, items: &Value) -> Value {
    let least = draws.below(2);
    json!({"type": "array", "items": items, "minItems": least, "maxItems": least + 1 + draws.below(2)})
}

fn either(draws: &mut Draws, depth: usize) -> Value {
    match draws.below(3) {
        0 => json!({"anyOf": [value(draws, depth), value(draws, depth)]}),
        1 => json!({"type": ["string", "null"], "maxLength": 6}),
        _ => json!({"allOf": [{"type": "integer", "minimum": -5}, {"maximum": 12}]}),
    }
}

fn integer(draws: &mut Draws) -> Value {
    let least = draws.below(2000) as i64 - 1000;
    let most = least + 1 + draws.below(5000) as i64;
    match draws.below(3) {
        0 => json!({"type": "integer", "minimum": least, "maximum": most}),
        1 => json!({"type": "integer", "exclusiveMinimum": least, "exclusiveMaximum": most + 1}),
        _ => json!({"type": "integer", "minimum": 0, "maximum": 1000, "multipleOf": 5}),
    }
}

fn number(draws: &mut Draws) -> Value {
    let least = draws.below(200) as f64 / 8.0 - 10.0;
    let most = least + 0.5 + draws.below(100) as f64 / 4.0;
    if draws.chance(50) {
        json!({"type": "number", "minimum": least, "maximum": most})
    } else {
        json!({"type": "number", "exclusiveMinimum": least, "maximum": most})
    }
}

fn string(draws: &mut Draws) -> Value {
    let least = draws.below(3);
    match draws.below(3) {
        0 => json!({"type": "string", "minLength": least, "maxLength": least + draws.below(8)}),
        1 => json!({"type": "string", "pattern": "^[A-Z][a-z]{0,6}( [a-z]{1,4})?$"}),
        _ => json!({"type": "string", "maxLength": 8}),
    }
}
