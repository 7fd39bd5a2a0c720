//! Families by the name of a processor's type: what each makes of a prompt and of a reply.

use alloquy_core::Preface;
use alloquy_core::template::PromptEnd;
use serde_json::{Value, json};

use crate::families::{self, Family, source};
use crate::messages;
use crate::outcome::Outcome;
use crate::row::Row;
use crate::symbols::{arguments, find, name};

/// The checks of a row that concern a family's own work, for the type that the row creates last.
pub(crate) fn run(row: &Row) -> Outcome {
    let mut family: Result<Family, String> = Err("creates no processor".to_owned());
    let mut expected = Vec::new();
    let mut found = Vec::new();
    for check in row.expected.as_array().into_iter().flatten() {
        let actual = &check["actual"];
        if let Some(kind) = config_of(actual) {
            family = families::named(kind);
            continue;
        }
        let Ok(family) = &family else { continue };
        // That arguments of another type are refused, the types see to: there is one type of them here.
        let fails = check["expected"][0].get("error").is_some();
        let Some(worked) = worked(family, actual).filter(|_| !fails) else { continue };
        expected.push(json!(true));
        found.push(json!(worked));
    }
    match (expected.is_empty(), family) {
        (false, _) => Outcome::compared(expected, found),
        (true, Err(reason)) => Outcome::Skipped(reason),
        (true, Ok(_)) => Outcome::skipped("asserts fields of a configuration for images and audio clips"),
    }
}

/// The processor whose configuration a check is about.
fn config_of(actual: &Value) -> Option<&str> {
    let (_, kind) = name(actual)?.split_once("holds_alternative<")?;
    kind.strip_suffix("DataProcessorConfig>")
}

/// Whether a prompt goes through as it is, or a reply comes back as the text that it is.
fn worked(family: &Family, actual: &Value) -> Option<bool> {
    let preface = find(actual, "CreateModelDataProcessor").and_then(preface_of).unwrap_or_default();
    match name(actual)? {
        "ToInputDataVector" => {
            let prompt = arguments(actual).first()?.as_str()?;
            let parts = family.prompt_parts(prompt, source(&preface, &[], PromptEnd::Closed));
            Some(parts.is_ok_and(|parts| parts.len() == 1))
        }
        "ToMessage" => {
            let reply = find(actual, "Responses")?["args"][1][0].as_str()?;
            Some(families::read(family, "", &preface, [reply]).text() == reply)
        }
        _ => None,
    }
}

/// Maps of C++ are lists of pairs.
fn preface_of(create: &Value) -> Option<Preface> {
    let list = arguments(create).get(1)?["messages"].as_array()?;
    let message = |pairs: &Value| {
        let pairs = pairs.as_array().into_iter().flatten();
        pairs
            .map(|pair| (pair[0].as_str().unwrap_or_default().to_owned(), pair[1].clone()))
            .collect::<Value>()
    };
    messages::preface(&json!({"messages": list.iter().map(message).collect::<Vec<_>>()})).ok()
}
