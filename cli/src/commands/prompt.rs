//! `alloquy prompt`: the prompts of a library.

use alloquy::core::prompt_library::{
    Prompt, PromptFacts, PromptInfo, PromptLabel, PromptLibrary, PromptName, VersionNumber,
};
use alloquy::core::{Error, ErrorKind, Result};
use alloquy::prompts::{FolderLibrary, PromptHistory, VersionedLibrary};
use clap::{Args, Subcommand};
use serde_json::json;

use crate::arguments::{LibraryArguments, ValueArguments};
use crate::context::Context;
use crate::failure::Failure;
use crate::prompts::note_lacks;
use crate::screen;
use crate::stored::Stored;
use crate::table::Table;

const EXAMPLES: &str = "\
Examples:
  alloquy prompt list --prompts prompts            the prompts of a folder
  alloquy prompt check                             what is wrong with them; exits with 1 if something is
  alloquy prompt show system/support@canary        a prompt as its author wrote it
  alloquy prompt render greet --set name=Ada       what a model would read
  alloquy prompt label greet production 1.2.0      let the label production point to version 1.2.0
  alloquy prompt diff 0.1                          what changed in the prompt of a message since it was sent
  alloquy ask --prompt greet --set name=Ada        ask with it

With prompts = \"FOLDER\" in the configuration file, --prompts can be left out.";

const LIST_EXAMPLES: &str = "\
Examples:
  alloquy prompt list --prompts prompts
  alloquy prompt list --json | jq -r '.prompts[].prompt'";

const SHOW_EXAMPLES: &str = "\
Examples:
  alloquy prompt show greet
  alloquy prompt show system/support@canary --json";

const RENDER_EXAMPLES: &str = "\
Examples:
  alloquy prompt render greet --set name=Ada
  alloquy prompt render review --set code=@main.rs --set rules:='[1, 2]' --json";

const CHECK_EXAMPLES: &str = "\
Examples:
  alloquy prompt check --prompts prompts";

const LABEL_EXAMPLES: &str = "\
Examples:
  alloquy prompt label greet production 1.2.0
  alloquy prompt label greet canary                 remove the label";

const DIFF_EXAMPLES: &str = "\
Examples:
  alloquy prompt diff 0.1
  alloquy prompt diff 0 --conversation tea";

/// List, show, fill in and check the prompts of a library
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct PromptCommand {
    #[command(subcommand)]
    action: Action,
}

/// What to do with prompts.
#[derive(Debug, Subcommand)]
enum Action {
    List(List),
    Show(Show),
    Render(Render),
    Check(Check),
    Label(Label),
    Diff(Diff),
}

impl PromptCommand {
    pub(crate) fn run(self, context: &Context) -> Result<(), Failure> {
        match self.action {
            Action::List(list) => list.run(context),
            Action::Show(show) => show.run(context),
            Action::Render(render) => render.run(context),
            Action::Check(check) => check.run(context),
            Action::Label(label) => label.run(context),
            Action::Diff(diff) => diff.run(context),
        }
    }
}

/// Opens the library that is set.
fn opened(context: &Context, arguments: &LibraryArguments) -> Result<FolderLibrary, Failure> {
    context.settings.settle(arguments)?.open().map_err(Failure::Arguments)
}

/// List the prompts
#[derive(Args, Debug)]
#[command(after_help = LIST_EXAMPLES)]
struct List {
    #[command(flatten)]
    library: LibraryArguments,
}

impl List {
    fn run(self, context: &Context) -> Result<(), Failure> {
        let library = opened(context, &self.library)?;
        let mut table = Table::new(["PROMPT", "LABELS", "READS"]);
        let mut values = Vec::new();
        for name in library.names() {
            let prompt = library.prompt(&name)?;
            let info = prompt.info();
            let labels = labels(&library, info);
            let variables: Vec<_> = info.variables.iter().map(String::as_str).collect();
            table.push([name.to_string(), labels.join(" "), variables.join(" ")]);
            values.push(json!({"prompt": name.to_string(), "labels": labels, "variables": variables, "digest": info.digest}));
        }
        let problems = library.problems().len();
        if problems > 0 {
            let them = if problems == 1 { "1 problem".to_owned() } else { format!("{problems} problems") };
            context.notes.say(format!("{them}: `alloquy prompt check` lists them"));
        } else if values.is_empty() {
            context.notes.say(format!("{} has no prompt", library.folder().display()));
        }
        context.print(&table.aligned(screen::width()), &json!({"prompts": values}))
    }
}

/// Returns the labels that point to the version of a prompt.
fn labels(library: &FolderLibrary, info: &PromptInfo) -> Vec<String> {
    let (Some(history), Some(version)) = (library.history(&info.name), info.version) else {
        return Vec::new();
    };
    let mut labels = Vec::new();
    for (label, number) in history.labels() {
        if *number == version {
            labels.push(label.to_string());
        }
    }
    labels
}

/// Show a prompt as its author wrote it
#[derive(Args, Debug)]
#[command(after_help = SHOW_EXAMPLES)]
struct Show {
    /// The prompt: NAME, KIND/NAME or NAME@VERSION; without a kind it is one for your message
    name: PromptName,
    #[command(flatten)]
    library: LibraryArguments,
}

impl Show {
    fn run(self, context: &Context) -> Result<(), Failure> {
        let library = opened(context, &self.library)?;
        let prompt = library.prompt(&self.name)?;
        let info = prompt.info();
        let history = library.history(&info.name);
        let versions: Vec<_> = history.into_iter().flat_map(PromptHistory::versions).collect();
        let versions: Vec<_> = versions
            .into_iter()
            .map(|(number, version)| json!({"version": number, "status": version.record.status, "tags": version.record.tags}))
            .collect();
        let value = json!({
            "prompt": info.name.to_string(),
            "version": info.version,
            "labels": labels(&library, info),
            "digest": info.digest,
            "texts": info.texts,
            "variables": info.variables,
            "required": info.required,
            "defaults": info.defaults,
            "input": info.input,
            "model": info.model,
            "sampling": info.sampling,
            "metadata": info.metadata,
            "versions": versions,
        });
        context.notes.say(described(info));
        context.print_document(&with_line_end(info.texts.join("\n\n")), &value)
    }
}

/// Says what a prompt reads and needs.
fn described(info: &PromptInfo) -> String {
    let mut text = info.name.to_string();
    if let Some(version) = info.version {
        text += &format!("@{version}");
    }
    let listed = |names: &std::collections::BTreeSet<String>| {
        names.iter().map(String::as_str).collect::<Vec<_>>().join(", ")
    };
    if !info.variables.is_empty() {
        text += &format!(" reads {}", listed(&info.variables));
    }
    if !info.required.is_empty() {
        text += &format!("; it needs {}", listed(&info.required));
    }
    if let Some(model) = &info.model {
        text += &format!("; its author recommends the model {model}");
    }
    text
}

fn with_line_end(mut text: String) -> String {
    if !text.ends_with('\n') {
        text.push('\n');
    }
    text
}

/// Fill a prompt in, and show what a model would read
#[derive(Args, Debug)]
#[command(after_help = RENDER_EXAMPLES)]
struct Render {
    /// The prompt: NAME, KIND/NAME or NAME@VERSION; without a kind it is one for your message
    name: PromptName,
    #[command(flatten)]
    values: ValueArguments,
    #[command(flatten)]
    library: LibraryArguments,
}

impl Render {
    fn run(self, context: &Context) -> Result<(), Failure> {
        let library = opened(context, &self.library)?;
        let values = self.values.values().map_err(Failure::Arguments)?;
        let filled = library.prompt(&self.name)?.fill(&values)?;
        let mut messages = Vec::new();
        for message in &filled.messages {
            let spans: Vec<_> = message
                .rendered
                .spans
                .iter()
                .map(|span| json!({"text": span.text, "source": span.source}))
                .collect();
            messages.push(json!({"role": message.role, "spans": spans}));
        }
        note_lacks(&filled, context.notes);
        let value = json!({"prompt": filled.facts, "messages": messages});
        context.print_document(&with_line_end(filled.text()), &value)
    }
}

/// List everything that is wrong with the prompts
#[derive(Args, Debug)]
#[command(after_help = CHECK_EXAMPLES)]
struct Check {
    #[command(flatten)]
    library: LibraryArguments,
}

impl Check {
    fn run(self, context: &Context) -> Result<(), Failure> {
        let library = opened(context, &self.library)?;
        let problems = library.problems();
        let mut text = String::new();
        let mut values = Vec::new();
        for problem in &problems {
            text += &format!("{problem}\n");
            values.push(json!({"place": problem.place, "line": problem.line, "message": problem.message}));
        }
        context.print(&text, &json!({"problems": values, "prompts": library.names().len()}))?;
        if problems.is_empty() {
            context.notes.say(format!("{} prompts, nothing is wrong", library.names().len()));
            return Ok(());
        }
        let message = format!("{} of the files of prompts need correcting", problems.len());
        Err(Failure::from(Error::new(ErrorKind::Invalid, message)))
    }
}

/// Let a label point to another version
#[derive(Args, Debug)]
#[command(after_help = LABEL_EXAMPLES)]
struct Label {
    /// The prompt: NAME or KIND/NAME
    name: PromptName,
    /// The label, such as production
    label: PromptLabel,
    /// The number of the version; without it, the label is removed
    version: Option<VersionNumber>,
    #[command(flatten)]
    library: LibraryArguments,
}

impl Label {
    fn run(self, context: &Context) -> Result<(), Failure> {
        let folder = opened(context, &self.library)?.folder().to_owned();
        let mut library = VersionedLibrary::open(folder)?;
        let before = match self.version {
            Some(version) => library.move_label(&self.name, self.label.clone(), version)?,
            None => library.remove_label(&self.name, &self.label)?,
        };
        let (name, label) = (&self.name, &self.label);
        context.notes.say(match (self.version, before) {
            (Some(version), Some(before)) => format!("{name}@{label} is version {version}, and was {before}"),
            (Some(version), None) => format!("{name}@{label} is version {version}"),
            (None, Some(before)) => format!("{name} has no label {label} any more; it was version {before}"),
            (None, None) => format!("{name} had no label {label}"),
        });
        let value =
            json!({"prompt": name.to_string(), "label": label, "version": self.version, "before": before});
        context.print("", &value)
    }
}

/// Show what changed in the prompt of a message since it was sent
#[derive(Args, Debug)]
#[command(after_help = DIFF_EXAMPLES)]
struct Diff {
    /// An address such as 0.1.0, a part of a node's id, or a bookmark
    #[arg(value_name = "ADDRESS")]
    at: String,
    #[command(flatten)]
    library: LibraryArguments,
    #[command(flatten)]
    stored: Stored,
}

impl Diff {
    fn run(self, context: &Context) -> Result<(), Failure> {
        let library = opened(context, &self.library)?;
        let facts = pollster::block_on(self.facts(context))?;
        let name = PromptName::new(facts.kind, facts.name.clone());
        let now = library.prompt(&name)?;
        let then = by_digest(&library, &facts)?;
        let now_text = now.info().texts.join("\n\n");
        let then_text = then.as_ref().map(|prompt| prompt.info().texts.join("\n\n"));
        let is_same = facts.digest == now.info().digest;
        context.notes.say(if is_same {
            format!("prompt {name} is the one that was sent")
        } else if then.is_some() {
            format!("prompt {name} has changed since this message was sent")
        } else {
            format!("prompt {name} has changed, and the library no longer has the text that was sent; versions keep it")
        });
        let text = then_text.as_deref().map_or_else(String::new, |then| changed_lines(then, &now_text));
        let value = json!({
            "prompt": name.to_string(),
            "sent": {"version": facts.version, "arm": facts.arm, "digest": facts.digest, "text": then_text},
            "now": {"version": now.info().version, "digest": now.info().digest, "text": now_text},
            "same": is_same,
        });
        context.print_document(&text, &value)
    }

    async fn facts(&self, context: &Context) -> Result<PromptFacts, Failure> {
        let chat = self.stored.open_for_reading(context).await?;
        let node = chat.resolve(&self.at).await?;
        let tree = chat.tree().await?;
        let metadata = match node {
            Some(node) => tree.node(node)?.metadata.clone(),
            None => serde_json::Map::new(),
        };
        PromptFacts::of(&metadata).ok_or_else(|| {
            let message = format!(
                "the message at {:?} comes from no prompt; name one that was sent with --prompt",
                self.at
            );
            Failure::from(Error::new(ErrorKind::NotFound, message))
        })
    }
}

/// Finds the prompt that was sent among all versions.
fn by_digest(library: &FolderLibrary, facts: &PromptFacts) -> Result<Option<std::sync::Arc<dyn Prompt>>> {
    for name in library.names() {
        if name.kind == facts.kind && name.name == facts.name {
            let prompt = library.prompt(&name)?;
            if prompt.info().digest == facts.digest {
                return Ok(Some(prompt));
            }
        }
    }
    Ok(None)
}

/// Returns the lines that differ: those of `then` after a minus, and those of `now` after a plus. Equal lines at the start and the
/// end are omitted.
fn changed_lines(then: &str, now: &str) -> String {
    let then: Vec<_> = then.lines().collect();
    let now: Vec<_> = now.lines().collect();
    let start = then.iter().zip(&now).take_while(|(then, now)| then == now).count();
    let rest = then.len().min(now.len()) - start;
    let end =
        then.iter().rev().zip(now.iter().rev()).take(rest).take_while(|(then, now)| then == now).count();
    let mut text = String::new();
    for (sign, lines) in [('-', &then), ('+', &now)] {
        for line in lines.iter().take(lines.len() - end).skip(start) {
            text += &format!("{sign}{line}\n");
        }
    }
    text
}
