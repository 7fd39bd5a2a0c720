//! Decides which value of a setting is in force, and where it came from: flag, variable, file, model, or the program.
//!
//! A setting is a field of one of the argument groups; its key in the file is its flag's name.

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};

use alloquy::core::{Error, ErrorKind, Result};
use clap::Args;
use etcetera::BaseStrategy as _;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use crate::arguments::Settable;
use crate::limits;
use crate::nearest::nearest;

/// The name of the file of lines that were typed, in the data folder.
pub(crate) const HISTORY_FILE: &str = "history.txt";

/// Where a value came from, the strongest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Origin {
    /// A flag on the command line.
    Flag,
    /// A variable of the environment.
    Variable,
    /// The configuration file.
    File,
    /// The model's authors recommend it.
    Model,
    /// It is the program's default.
    Default,
}

impl fmt::Display for Origin {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Origin::Flag => "flag",
            Origin::Variable => "environment",
            Origin::File => "file",
            Origin::Model => "model",
            Origin::Default => "default",
        })
    }
}

/// Where the arguments of this process came from: flags and variables, by the names of their fields.
#[derive(Clone, Debug, Default)]
pub(crate) struct Sources(BTreeMap<String, Origin>);

impl Sources {
    /// Records where an argument came from; the innermost command counts.
    pub(crate) fn insert(&mut self, field: &str, origin: Origin) {
        self.0.insert(field.replace('_', "-"), origin);
    }

    fn of(&self, key: &str) -> Option<Origin> {
        self.0.get(key).copied()
    }
}

/// The configuration file and where the arguments came from: what decides a setting.
#[derive(Clone, Debug, Default)]
pub(crate) struct Settings {
    /// The file that was read, or would be.
    pub(crate) path: Option<PathBuf>,
    /// Short names of models.
    pub(crate) aliases: BTreeMap<String, String>,
    /// What is wrong in the file; the settings in force lack it.
    pub(crate) problems: Vec<Problem>,
    values: Map<String, Value>,
    sources: Sources,
}

/// Something wrong in the configuration file.
#[derive(Clone, Debug)]
pub(crate) struct Problem {
    /// The key, unless the file cannot be read as TOML.
    pub(crate) key: Option<String>,
    pub(crate) value: Value,
    pub(crate) message: String,
}

/// Whether a file must exist.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Presence {
    Required,
    Optional,
}

/// A group of settings: arguments of the command line that the file may set, too.
pub(crate) trait Group: Args + Serialize + DeserializeOwned {}

impl<G: Args + Serialize + DeserializeOwned> Group for G {}

impl Settings {
    /// Reads the file that was named, or the one at its usual place if there is one. [`Settings::check`] reports what is wrong in it.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub(crate) fn read(named: Option<&Path>, sources: Sources) -> Result<Self> {
        let path = named.map(Path::to_owned).or_else(usual_place);
        let presence = if named.is_some() { Presence::Required } else { Presence::Optional };
        let text = path.as_deref().map_or(Ok(String::new()), |path| read(path, presence))?;
        Ok(Self { path, sources, ..parse(&text) })
    }

    /// Reads the file again, if there is one.
    ///
    /// # Errors
    /// When a file that was there cannot be read.
    pub(crate) fn again(&self) -> Result<Self> {
        let Some(path) = &self.path else { return Ok(self.clone()) };
        let was_empty = self.values.is_empty() && self.aliases.is_empty();
        let presence = if was_empty { Presence::Optional } else { Presence::Required };
        let text = read(path, presence)?;
        Ok(Self { path: self.path.clone(), sources: self.sources.clone(), ..parse(&text) })
    }

    /// Checks that nothing is wrong in the file.
    ///
    /// # Errors
    /// The first problem.
    pub(crate) fn check(&self) -> Result<()> {
        let Some(problem) = self.problems.first() else { return Ok(()) };
        let path = self.path.as_deref().unwrap_or(Path::new(""));
        let others = match self.problems.len() - 1 {
            0 => String::new(),
            others => format!(" (and {others} more: `alloquy config show` lists them)"),
        };
        let message = format!("configuration file {path:?} is not valid: {}{others}", problem.message);
        Err(Error::new(ErrorKind::Invalid, message))
    }

    /// Returns the model that a name means: that of an alias, or the name itself.
    pub(crate) fn model_named(&self, name: &str) -> String {
        self.aliases.get(name).map_or_else(|| name.to_owned(), Clone::clone)
    }

    /// Returns the model that the variable or the file names.
    pub(crate) fn default_model(&self) -> Option<String> {
        let variable = std::env::var("ALLOQUY_MODEL").ok().filter(|name| !name.is_empty());
        variable.or_else(|| self.values.get("model")?.as_str().map(str::to_owned))
    }

    /// Returns the place of the server's snapshots, which the variable or the file names.
    pub(crate) fn served_snapshots(&self) -> Option<String> {
        let variable = std::env::var("ALLOQUY_SNAPSHOTS").ok().filter(|place| !place.is_empty());
        variable.or_else(|| self.values.get("snapshots")?.as_str().map(str::to_owned))
    }

    /// Returns a group as it is in force: what was given, and the file's values for what was not.
    pub(crate) fn settle<G: Group>(&self, given: &G) -> Result<G> {
        let mut settled = self.values.clone();
        settled.extend(entries(given)?.into_iter().filter(|(_, value)| !value.is_null()));
        if let Some(Value::String(model)) = settled.get_mut("model") {
            *model = self.model_named(model);
        }
        serde_json::from_value(Value::Object(settled)).map_err(invalid)
    }

    /// Returns where the value of a setting comes from.
    pub(crate) fn origin(&self, key: &str) -> Origin {
        let filed = self.values.contains_key(key).then_some(Origin::File);
        self.sources.of(key).or(filed).unwrap_or(Origin::Default)
    }
}

/// Returns the settings of a group by their keys; those that are not set are null.
pub(crate) fn entries<G: Group>(group: &G) -> Result<Map<String, Value>> {
    match serde_json::to_value(group).map_err(invalid)? {
        Value::Object(entries) => Ok(entries),
        other => Err(Error::new(ErrorKind::Invalid, format!("settings are no table but {other}"))),
    }
}

/// Returns the folder where this program keeps its data.
pub(crate) fn data_folder() -> Result<PathBuf> {
    Ok(folders()?.data_dir().join("alloquy"))
}

/// Returns the folder for what this program remembers between runs and that can be lost, if there is a home folder.
pub(crate) fn state_folder() -> Option<PathBuf> {
    let folders = folders().ok()?;
    let folder = folders.state_dir().unwrap_or_else(|| folders.data_dir());
    Some(folder.join("alloquy"))
}

fn usual_place() -> Option<PathBuf> {
    Some(folders().ok()?.config_dir().join("alloquy").join("config.toml"))
}

fn folders() -> Result<impl etcetera::BaseStrategy> {
    etcetera::choose_base_strategy().map_err(|source| {
        let message =
            "the home folder is unknown: name a configuration file with --config and a store with --store";
        Error::new(ErrorKind::NotFound, message).with_source(source)
    })
}

fn read(path: &Path, presence: Presence) -> Result<String> {
    match crate::file::text(path) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound && presence == Presence::Optional => {
            Ok(String::new())
        }
        text => text.map_err(|source| {
            let message = format!("configuration file {path:?} cannot be read");
            Error::new(ErrorKind::Invalid, message).with_source(source)
        }),
    }
}

/// Reads a file. What is wrong is left out of the values, and among the problems.
fn parse(text: &str) -> Settings {
    let mut settings = Settings::default();
    match toml::from_str::<Map<String, Value>>(text) {
        Ok(values) => settings.values = values,
        Err(error) => {
            // The long form draws the line of the file, which is more than one sentence.
            let line = error.span().map_or(0, |span| text[..span.start].matches('\n').count());
            let message = format!("line {}: {}", line + 1, error.message());
            settings.problems.push(Problem { key: None, value: Value::Null, message });
        }
    }
    if let Some(aliases) = settings.values.shift_remove(ALIASES) {
        settings.add_aliases(&aliases);
    }
    let former = settings.values.get(FORMER).cloned().unwrap_or_default();
    let renamed = rename_context_shift(&mut settings.values);
    settings.keep(FORMER, former, renamed);
    for (key, value) in std::mem::take(&mut settings.values) {
        let checked = check(&key, &value);
        if checked.is_ok() {
            settings.values.insert(key.clone(), value.clone());
        }
        settings.keep(&key, value, checked);
    }
    settings
}

/// The table of short names of models.
pub(crate) const ALIASES: &str = "aliases";

/// The former name of `context-policy`.
const FORMER: &str = "context-shift";

impl Settings {
    /// Adds a problem, if a key has one.
    fn keep(&mut self, key: &str, value: Value, checked: Result<()>) {
        if let Err(error) = checked {
            self.problems.push(Problem { key: Some(key.to_owned()), value, message: error.to_string() });
        }
    }

    fn add_aliases(&mut self, aliases: &Value) {
        let Some(table) = aliases.as_object() else {
            let wrong = format!(
                "key \"aliases\" is {aliases}, expected a table such as aliases = {{ qwen = \"NAME\" }}"
            );
            self.keep(ALIASES, aliases.clone(), Err(Error::new(ErrorKind::Invalid, wrong)));
            return;
        };
        for (name, target) in table {
            let checked = check_alias(name, target.as_str());
            if let (Ok(()), Some(target)) = (&checked, target.as_str()) {
                self.aliases.insert(name.clone(), target.to_owned());
            }
            self.keep(&format!("{ALIASES}.{name}"), target.clone(), checked);
        }
    }
}

fn is_of_alias(sign: char) -> bool {
    sign.is_alphanumeric() || ['-', '_', '.'].contains(&sign)
}

/// Checks the name of an alias, and that it names a model.
pub(crate) fn check_alias(name: &str, target: Option<&str>) -> Result<()> {
    let message = if name.is_empty() || !name.chars().all(is_of_alias) {
        format!("the alias {name:?} is not a name of letters, digits, -, _ and .")
    } else if name == crate::pocket::POCKET {
        format!("{name:?} is the built-in model, so no alias can have this name")
    } else if target.is_none_or(str::is_empty) {
        format!("the alias {name:?} names no model: write {name} = \"NAME\"")
    } else {
        return Ok(());
    };
    Err(Error::new(ErrorKind::Invalid, message))
}

/// Reads the former name of a policy: `context-shift = "on"` is `context-policy = "shift"`, `"off"` is `"error"`. Where a file
/// has both, `context-policy` counts, as it did.
fn rename_context_shift(values: &mut Map<String, Value>) -> Result<()> {
    let Some(shift) = values.shift_remove(FORMER) else { return Ok(()) };
    let policy = match shift.as_str() {
        Some("on") => "shift",
        Some("off") => "error",
        _ => {
            let message = format!(
                "key \"context-shift\" is {shift}, the former name of context-policy, expected \"on\" or \"off\""
            );
            return Err(Error::new(ErrorKind::Invalid, message));
        }
    };
    values.entry("context-policy").or_insert_with(|| policy.into());
    Ok(())
}

fn check(key: &str, value: &Value) -> Result<()> {
    let known = keys::<Settable>();
    if !known.iter().any(|name| name == key) {
        let advice = match nearest(key, known.iter().map(String::as_str)) {
            Some(name) => format!("did you mean {name:?}?"),
            None => "keys are the names of flags, and `alloquy config show --all` lists them".to_owned(),
        };
        let message = format!("unknown key {key:?}; {advice}");
        return Err(Error::new(ErrorKind::Invalid, message));
    }
    if value.is_null() {
        // TOML has no null: the value was an infinite number or none, which JSON lacks.
        let expected = limits::of(key).map(|range| format!(", expected {range}")).unwrap_or_default();
        let message = format!("key {key:?} is not a number or infinite{expected}");
        return Err(Error::new(ErrorKind::Invalid, message));
    }
    if let Err(expected) = limits::check(key, value) {
        return Err(Error::new(ErrorKind::Invalid, format!("key {key:?} is {value}, {expected}")));
    }
    let alone = Map::from_iter([(key.to_owned(), value.clone())]);
    let typed = serde_json::from_value::<Settable>(Value::Object(alone)).map(drop);
    typed.map_err(|source| {
        let message = match expected(&source.to_string()) {
            Some(expected) => format!("key {key:?} is {value}, expected {expected}"),
            None => format!("key {key:?} is {value}: {source}"),
        };
        Error::new(ErrorKind::Invalid, message)
    })
}

/// Describes a valid value without names of Rust's types.
fn expected(error: &str) -> Option<&str> {
    Some(match error.rsplit_once("expected ")?.1 {
        "usize" | "u64" | "u32" => "a whole number of at least 0",
        "f64" | "f32" => "a number",
        "a sequence" => "a list",
        other => other,
    })
}

/// Returns the keys of a group in the order in which help lists them.
pub(crate) fn keys<G: Group>() -> Vec<String> {
    let command = G::augment_args(clap::Command::new("keys"));
    command.get_arguments().map(|argument| argument.get_id().as_str().replace('_', "-")).collect()
}

fn invalid(source: serde_json::Error) -> Error {
    Error::new(ErrorKind::Invalid, "a setting has the wrong type").with_source(source)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arguments::SamplingArguments;

    fn settings(file: &str, sources: &[(&str, Origin)]) -> Settings {
        let mut known = Sources::default();
        sources.iter().for_each(|(field, origin)| known.insert(field, *origin));
        let settings = parse(file);
        settings.check().unwrap();
        Settings { sources: known, ..settings }
    }

    #[test]
    fn what_is_given_wins_over_the_file() {
        let settings = settings("temperature = 0.5\ntop-k = 40\n", &[("temperature", Origin::Flag)]);
        let given = SamplingArguments { temperature: Some(0.9), ..SamplingArguments::default() };
        let settled = settings.settle(&given).unwrap();
        assert_eq!((settled.temperature, settled.top_k, settled.seed), (Some(0.9), Some(40), None));
        assert_eq!(settings.origin("temperature"), Origin::Flag);
        assert_eq!(settings.origin("top-k"), Origin::File);
        assert_eq!(settings.origin("seed"), Origin::Default);
    }

    #[test]
    fn whole_numbers_serve_where_numbers_are_expected() {
        let settled = settings("temperature = 0", &[]).settle(&SamplingArguments::default()).unwrap();
        assert_eq!(settled.temperature, Some(0.0));
    }

    #[test]
    fn stop_texts_of_a_flag_stand_in_for_those_of_the_file() {
        let settings = settings("stop = [\"A\", \"B\"]", &[]);
        let settled = settings.settle(&SamplingArguments::default()).unwrap();
        assert_eq!(settled.stop, ["A", "B"]);
        let given = SamplingArguments { stop: vec!["C".into()], ..SamplingArguments::default() };
        assert_eq!(settings.settle(&given).unwrap().stop, ["C"]);
    }

    #[test]
    fn a_bad_file_says_where_and_what_would_have_been_valid() {
        let errors = [
            "temprature = 1",
            "top-k = \"many\"",
            "seed = -1",
            "temperature = true",
            "stop = \"USER:\"",
            "approve = \"perhaps\"",
            "logit-bias = [\"x\"]",
            "a = 1\nb = = 2",
            "aliases = \"qwen\"",
            "[aliases]\nqwen = 3",
            "[aliases]\npocket = \"a\"",
            "[aliases]\n\"a/b\" = \"c\"",
        ]
        .map(|file| parse(file).problems.remove(0).message);
        insta::assert_snapshot!(errors.join("\n"));
    }

    #[test]
    fn what_is_wrong_is_left_out_and_the_rest_is_in_force() {
        let settings =
            parse("top-k = \"many\"\ntemperature = 0.5\nbark = 1\n[aliases]\nqwen = \"a/b\"\nx = 1\n");
        let keys: Vec<_> = settings.problems.iter().filter_map(|problem| problem.key.as_deref()).collect();
        assert_eq!(keys, ["aliases.x", "bark", "top-k"]);
        assert_eq!(settings.settle(&SamplingArguments::default()).unwrap().temperature, Some(0.5));
        let error = settings.check().unwrap_err().to_string();
        assert!(error.contains("(and 2 more: `alloquy config show` lists them)"), "{error}");
        assert_eq!((settings.model_named("qwen").as_str(), settings.model_named("b").as_str()), ("a/b", "b"));
    }

    #[test]
    fn a_named_file_has_to_be_there_and_the_usual_one_not() {
        let missing = Path::new("/nowhere/config.toml");
        assert!(Settings::read(Some(missing), Sources::default()).is_err());
        assert_eq!(read(missing, Presence::Optional).unwrap(), "");
    }
}
