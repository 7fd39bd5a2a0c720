//! Tables of texts and prompts that are filled in, a folder of prompts, experiments and versions.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use alloquy_core::prompt_library::{FilledPrompt, PromptLibrary, PromptName, VersionNumber};
use alloquy_prompts::{
    Arm, ConfigLibrary, Experiment, FolderLibrary, PromptHistory, PromptRecord, Split, VersionRecord,
    VersionStatus,
};
use alloquy_templates::{NoReferences, PromptSyntax, PromptText, format_to_jinja};
use serde_json::{Map, Value, json};

use crate::library::{self, MARKS};
use crate::outcome::{Named, Outcome, Report};
use crate::session::{Result, said};
use crate::state::{compare, list};

/// Runs a table row by row, or a folder of prompts as one case.
pub(crate) fn run(name: &str, case: &Value, report: &mut Report) {
    let whole = case["conformance"] == "quirk";
    if case["files"].is_object() {
        report.count(Named { name, recorded: case, is_quirk: whole }, outcome(folder(case)));
        return;
    }
    let rows = list(case, "cases");
    if rows.is_empty() {
        report.count(Named { name, recorded: case, is_quirk: whole }, unknown());
    }
    for (index, row) in rows.iter().enumerate() {
        let name = format!("{name} row {index} {row}");
        let is_quirk = whole || row["conformance"] == "quirk";
        report.count(Named { name: &name, recorded: row, is_quirk }, judge(case, row));
    }
}

fn judge(case: &Value, row: &Value) -> Outcome {
    if row["template"].is_string() {
        text(row)
    } else if row["prompt"].is_string() {
        prompt(&case["library"], row)
    } else if let Some(format) = row["in"].as_str() {
        let found = format_to_jinja(format).into();
        outcome(Ok(Vec::from_iter(compare("as Jinja", &row["format_to_jinja2"], &found))))
    } else {
        unknown()
    }
}

fn unknown() -> Outcome {
    Outcome::Differs { how: "the runner knows no such case of prompts".to_owned(), why: Vec::new() }
}

/// Agrees if nothing differs. What differs has no reason.
fn outcome(found: Result<Vec<String>>) -> Outcome {
    let differences = found.unwrap_or_else(|error| vec![error]);
    if differences.is_empty() {
        return Outcome::Agrees;
    }
    Outcome::Differs { how: differences.join("\n   "), why: Vec::new() }
}

/// Renders a text. If what differs is that values are printed as they are, that is the reason.
fn text(row: &Value) -> Outcome {
    let syntax = if row["mode"] == "jinja2" { PromptSyntax::Jinja } else { PromptSyntax::Mixed };
    let template = row["template"].as_str().unwrap();
    let found = PromptText::new(template, syntax).map_err(said);
    let found = found.and_then(|text| Ok((rendered(&text, &row["params"])?, text)));
    let (printed, text) = match (found, row["result"].as_str()) {
        (Err(_), None) => return Outcome::Agrees,
        (Err(error), Some(_)) => return outcome(Err(error)),
        (Ok((printed, text)), _) => (printed, text),
    };
    if let Some(how) = compare("text", &row["result"], &printed.as_str().into()) {
        let why = if as_they_are(&text, &row["params"]) == Some(printed) { vec!["values"] } else { vec![] };
        return Outcome::Differs { how, why };
    }
    outcome(Ok(unread(&text, row)))
}

fn rendered(text: &PromptText, params: &Value) -> Result<String> {
    let rendered = text.render(&library::values(params), &NoReferences).map_err(said)?;
    Ok(rendered.text())
}

/// What a text prints of values without marks, with the values in their places. `None` if no value has a mark.
fn as_they_are(text: &PromptText, params: &Value) -> Option<String> {
    let mut unmarked = params.clone();
    let mut values = Vec::new();
    for (index, value) in unmarked.as_object_mut()?.values_mut().enumerate() {
        let content = value.as_str().unwrap_or_default().to_owned();
        if MARKS.iter().any(|mark| content.contains(mark)) {
            let place = format!("\u{e000}{index}\u{e001}");
            *value = place.clone().into();
            values.push((place, content));
        }
    }
    let mut printed = rendered(text, &unmarked).ok()?;
    for (place, value) in &values {
        printed = printed.replace(place, value);
    }
    (!values.is_empty()).then_some(printed)
}

/// The names that dataknobs finds in a text and that it does not read. In a loop, dataknobs finds the loop's own.
fn unread(text: &PromptText, row: &Value) -> Vec<String> {
    if text.source().contains("{%") {
        return Vec::new();
    }
    let names = list(row, "template_vars").iter().filter_map(Value::as_str);
    let unread = names.filter(|name| !text.variables().any(|variable| variable == *name));
    unread.map(|name| format!("{name:?} is not read")).collect()
}

/// Fills in a prompt of the library of a case.
fn prompt(records: &Value, row: &Value) -> Outcome {
    let name = row["prompt"].as_str().unwrap();
    let filled = match (filled(records, name, &row["params"]), row.get("error")) {
        (Err(_), Some(_)) => return Outcome::Agrees,
        (Err(error), None) => return outcome(Err(error)),
        (Ok(filled), _) => filled,
    };
    let Some(how) = compare("text", &row["result"], &filled.text().into()) else {
        return outcome(Ok(not_missing(&filled, row)));
    };
    let honoured = honoured(records, name, &row["params"]);
    let why = if honoured == Some(filled.text()) { vec!["settings"] } else { vec![] };
    Outcome::Differs { how, why }
}

fn filled(records: &Value, name: &str, params: &Value) -> Result<FilledPrompt> {
    let library = ConfigLibrary::from_json(records).map_err(said)?;
    let prompt = library.prompt(&PromptName::user(name)).map_err(said)?;
    prompt.fill(&library::values(params)).map_err(said)
}

/// What differs of the values that are missing. A warning names some of them.
fn not_missing(filled: &FilledPrompt, row: &Value) -> Vec<String> {
    let missing = &filled.facts.missing;
    let mut differences = Vec::from_iter(compare("missing", &row["params_missing"], &json!(missing)));
    for warning in list(row, "warnings").iter().filter_map(Value::as_str) {
        let names = warning.rsplit(": ").next().unwrap_or_default();
        if !names.split(", ").all(|name| missing.iter().any(|missing| missing == name)) {
            differences.push(format!("{warning:?} is not among what is missing: {missing:?}"));
        }
    }
    differences
}

/// What a prompt prints if the setting that dataknobs ignores counts; `None` if it has no such setting.
fn honoured(records: &Value, name: &str, params: &Value) -> Option<String> {
    let record = &records["user"][name];
    if let Some(base) = record["extends"].as_str() {
        return filled(records, base, params).ok().map(|filled| filled.text());
    }
    let mut template = record["template"].as_str()?.to_owned();
    if record["template_mode"] == "jinja2" {
        return rendered(&PromptText::new(&template, PromptSyntax::Jinja).ok()?, params).ok();
    }
    let sections = record["sections"].as_object();
    for (section, text) in sections.into_iter().flatten() {
        template = template.replace(&format!("{{{{{section}}}}}"), text.as_str()?);
    }
    let is_format = record["template_syntax"] == "format";
    if is_format {
        template = template.replace('{', "{{").replace('}', "}}");
    }
    let text = PromptText::new(&template, PromptSyntax::Mixed).ok()?;
    (sections.is_some() || is_format).then(|| rendered(&text, params).ok())?
}

/// Reads a folder of prompts. A file that cannot be read hides no other one.
fn folder(case: &Value) -> Result<Vec<String>> {
    let folder = tempfile::tempdir().unwrap();
    for (name, text) in case["files"].as_object().into_iter().flatten() {
        let path = folder.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text.as_str().unwrap()).unwrap();
    }
    let library = FolderLibrary::open(folder.path()).map_err(said)?;
    let mut differences = Vec::new();
    for kind in ["system", "user", "messages"] {
        let recorded = if case[kind].is_null() { json!({}) } else { case[kind].clone() };
        differences.extend(compare(kind, &recorded, &read(&library, kind)?));
        differences.extend(unreported(case, kind, &library));
    }
    for (name, expected) in case.as_object().into_iter().flatten() {
        let found = match (name.strip_prefix("rag_for_"), name.strip_prefix("rag_")) {
            (Some(prompt), _) => json!(library.retrievals(&PromptName::user(prompt)).map_err(said)?),
            (None, Some(retrieval)) => json!(library.retrieval(retrieval)),
            (None, None) => continue,
        };
        differences.extend(compare(name, expected, &found));
    }
    Ok(differences)
}

/// The files of a kind that neither dataknobs nor the library has read, and that are not among the library's problems.
fn unreported(case: &Value, kind: &str, library: &FolderLibrary) -> Vec<String> {
    let mut unreported = Vec::new();
    for name in case["files"].as_object().into_iter().flatten().map(|(name, _)| name) {
        let path = Path::new(name);
        let is_prompt = path.extension().is_some_and(|extension| extension != "txt");
        let is_read = path.file_stem().is_some_and(|stem| case[kind].get(&*stem.to_string_lossy()).is_some());
        let is_reported = library.problems().iter().any(|problem| problem.place == *name);
        if is_prompt && path.starts_with(kind) && !is_read && !is_reported {
            unreported.push(format!("{name} is not among the problems"));
        }
    }
    unreported
}

/// The prompts of a kind that a library has read.
fn read(library: &FolderLibrary, kind: &str) -> Result<Value> {
    let mut records = BTreeMap::new();
    for name in library.names().into_iter().filter(|name| name.kind.as_str() == kind) {
        library.prompt(&name).map_err(said)?;
        records.insert(name.name.clone(), library.record(&name).cloned());
    }
    Ok(json!(records))
}

/// Assigns users to the arms of an experiment.
pub(crate) fn assignments(case: &Value) -> Outcome {
    outcome(assigned(case))
}

fn assigned(case: &Value) -> Result<Vec<String>> {
    let mut arms = Vec::new();
    for (version, share) in case["traffic_split"].as_object().into_iter().flatten() {
        let weight = (share.as_f64().unwrap() * 1000.0).round() as u32;
        arms.push(Arm::new(version, version.parse().map_err(said)?, weight));
    }
    let experiment = Experiment::new("recorded", PromptName::user("p"), arms).map_err(said)?;
    let experiment = experiment.split(Split::Dataknobs);
    let users = case["assignments"].as_object().into_iter().flatten();
    let found: Map<_, _> =
        users.map(|(user, _)| (user.clone(), experiment.arm(user).name.clone().into())).collect();
    Ok(Vec::from_iter(compare("assignments", &case["assignments"], &found.into())))
}

/// Creates the versions of a prompt.
pub(crate) fn versions(case: &Value) -> Outcome {
    let mut history = PromptHistory::default();
    let mut differences = Vec::new();
    for step in list(case, "steps") {
        match (created(&mut history, &step["create"]), step.get("error")) {
            (Err(_), Some(_)) => {}
            (found, _) => {
                let found = found.unwrap_or_else(|error| error);
                differences.extend(compare(&step.to_string(), &step["version"], &found.into()));
            }
        }
    }
    let latest = history.current().map(|number| number.to_string());
    differences.extend(compare("latest", &case["latest"], &json!(latest)));
    let mut order: Vec<_> = history.versions().map(|(number, _)| number.to_string()).collect();
    order.reverse();
    differences.extend(compare("order", &case["order"], &json!(order)));
    outcome(Ok(differences))
}

fn created(history: &mut PromptHistory, create: &Value) -> Result<String> {
    let number = create["version"].as_str().map(str::parse::<VersionNumber>);
    let number = number.transpose().map_err(said)?;
    let mut record = VersionRecord::default();
    if let Some(status) = create["status"].as_str() {
        let status = status.trim_start_matches("VersionStatus.").to_lowercase();
        record.status = serde_json::from_value::<VersionStatus>(status.into()).unwrap();
    }
    let created = history.create(number, PromptRecord::of_text("x"), record).map_err(said)?;
    Ok(created.to_string())
}
