//! Reads conditions.

use serde_json::Value;

use crate::condition::{Condition, Keyword, ModelQuestion, Sentiment};
use crate::fields::{Fields, texts};
use crate::problem::Problems;
use crate::yaml::{Content, Located};

const CONDITIONS: [&str; 12] = [
    "always",
    "keyword",
    "matches",
    "equals",
    "at_least",
    "schema",
    "model",
    "host",
    "all",
    "any",
    "not",
    "sentiment",
];

/// Reads a condition: the word `always`, or an object of one condition.
pub(crate) fn condition(located: &Located, place: &str, problems: &mut Problems) -> Condition {
    problems.at(place, located.spot);
    let entry = match &located.content {
        Content::Scalar(Value::String(word)) if word == "always" => return Condition::Always,
        Content::Fields(fields) => match fields.as_slice() {
            [(name, content)] => Some((name.as_str(), content)),
            _ => None,
        },
        _ => None,
    };
    let Some((name, content)) = entry else {
        let message =
            format!("it is {}, expected an object with one of {}", located.value(), CONDITIONS.join(", "));
        problems.add(place, message);
        return unreadable();
    };
    let place = &format!("{place}.{name}");
    problems.at(place, content.spot);
    match name {
        "always" => Condition::Always,
        "keyword" => keyword(content, place, problems),
        "matches" => Condition::Matches(text(content, place, problems)),
        "host" => Condition::Host(text(content, place, problems)),
        "schema" => Condition::Schema(content.value()),
        "equals" => equals(content, place, problems),
        "at_least" => at_least(content, place, problems),
        "model" => model(content, place, problems),
        "sentiment" => sentiment(content, place, problems),
        "all" => Condition::All(parts(content, place, problems)),
        "any" => Condition::Any(parts(content, place, problems)),
        "not" => condition(content, place, problems).negated(),
        _ => {
            problems.add(
                place,
                format!("{name:?} is no condition; the conditions are: {}", CONDITIONS.join(", ")),
            );
            unreadable()
        }
    }
}

/// Returns what an unreadable condition becomes: one that never holds.
fn unreadable() -> Condition {
    Condition::Any(Vec::new())
}

fn text(located: &Located, place: &str, problems: &mut Problems) -> String {
    match located.value() {
        Value::String(text) => text,
        other => {
            problems.add(place, format!("it is {other}, expected a text"));
            String::new()
        }
    }
}

fn parts(located: &Located, place: &str, problems: &mut Problems) -> Vec<Condition> {
    let Content::List(items) = &located.content else {
        problems.add(place, format!("it is {}, expected a list of conditions", located.value()));
        return Vec::new();
    };
    let mut conditions = Vec::new();
    for (index, item) in items.iter().enumerate() {
        conditions.push(condition(item, &format!("{place}.{index}"), problems));
    }
    conditions
}

fn keyword(located: &Located, place: &str, problems: &mut Problems) -> Condition {
    let mut keyword = Keyword::default();
    if !matches!(located.content, Content::Fields(_)) {
        keyword.any = texts(located, place, problems);
        return Condition::Keyword(keyword);
    }
    if let Some(mut fields) = Fields::of(located, place, problems) {
        keyword.any = fields.texts("any", problems).unwrap_or_default();
        keyword.case = fields.flag("case", problems);
        keyword.word = fields.flag("word", problems);
        fields.finish(problems);
    }
    Condition::Keyword(keyword)
}

fn equals(located: &Located, place: &str, problems: &mut Problems) -> Condition {
    if !matches!(located.content, Content::Fields(_)) {
        return Condition::answered(located.value());
    }
    let Some(mut fields) = Fields::of(located, place, problems) else { return unreadable() };
    let variable = fields.text("variable", problems);
    let value = fields.value("value");
    if value.is_none() {
        problems.add(place, "it has no value to compare with; expected value");
    }
    fields.finish(problems);
    Condition::Equals { variable, value: value.unwrap_or_default() }
}

fn at_least(located: &Located, place: &str, problems: &mut Problems) -> Condition {
    let Some(mut fields) = Fields::of(located, place, problems) else { return unreadable() };
    let variable = fields.text("variable", problems);
    let value = fields.value("value").unwrap_or_default();
    fields.finish(problems);
    match (variable, value.as_f64()) {
        (Some(variable), Some(value)) => Condition::AtLeast { variable, value },
        _ => {
            problems.add(place, format!("it compares with {value}, expected variable and a number as value"));
            unreadable()
        }
    }
}

fn model(located: &Located, place: &str, problems: &mut Problems) -> Condition {
    let Some(mut fields) = Fields::of(located, place, problems) else { return unreadable() };
    let question = fields.text("question", problems);
    let options = fields.texts("options", problems);
    let is = fields.text("is", problems);
    let score = fields.flag("score", problems);
    fields.finish(problems);
    let (Some(question), Some(options), Some(is)) = (question, options, is) else {
        problems.add(place, "the question is incomplete; expected question, options and is");
        return unreadable();
    };
    Condition::Model(ModelQuestion { question, options, is, score })
}

fn sentiment(located: &Located, place: &str, problems: &mut Problems) -> Condition {
    let Some(mut fields) = Fields::of(located, place, problems) else { return unreadable() };
    let is = fields.text("is", problems).unwrap_or_default();
    let threshold = fields.value("threshold").and_then(|value| value.as_f64()).unwrap_or(0.5);
    fields.finish(problems);
    let is = match is.as_str() {
        "positive" => Sentiment::Positive,
        "negative" => Sentiment::Negative,
        "neutral" => Sentiment::Neutral,
        other => {
            problems.add(place, format!("{other:?} is none of positive, negative and neutral"));
            Sentiment::Neutral
        }
    };
    Condition::Sentiment { is, threshold }
}
