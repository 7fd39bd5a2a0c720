//! Completes a line of a chat with Tab: commands, and what may follow them.

use std::fs;
use std::sync::Arc;

use alloquy::core::annotations::Annotations;
use alloquy::core::prompt_library::PromptLibrary;
use alloquy::core::{Conversation, Result};
use rustyline::completion::{Completer, Pair};
use rustyline::highlight::Highlighter;
use rustyline::hint::Hinter;
use rustyline::validate::Validator;
use rustyline::{Context, Helper};

use super::command::{COMMANDS, Completes, find};
use super::settings::{DEFAULT, names, words};
use super::typed_path::at_home;
use crate::found;
use crate::visible::{is_hostile, on_one_line};

/// How many characters of a message are shown beside its address.
const WIDTH: usize = 40;

/// How many candidates are shown: more are no help.
const MOST: usize = 1000;

/// Completes lines of a chat.
#[derive(Default)]
pub(crate) struct Completion {
    /// The conversation whose addresses are completed.
    pub(super) chat: Option<Conversation>,
    /// The library whose prompts are completed.
    pub(super) prompts: Option<Arc<dyn PromptLibrary>>,
}

impl Completer for Completion {
    type Candidate = Pair;

    fn complete(&self, line: &str, at: usize, _: &Context<'_>) -> rustyline::Result<(usize, Vec<Pair>)> {
        let typed = line.get(..at).unwrap_or(line);
        let Some((name, _)) = typed.split_once(char::is_whitespace) else {
            return Ok((0, commands(typed)));
        };
        let Some(entry) = find(name) else { return Ok((at, Vec::new())) };
        let (start, mut candidates) = match entry.completes {
            Completes::Nothing => (at, Vec::new()),
            Completes::Addresses => {
                let start = last_word(typed);
                // Without its conversation a line has no addresses, which is no reason to fail.
                (start, self.addresses(rest(typed, start)).unwrap_or_default())
            }
            Completes::Files => {
                let start = argument(typed, name);
                (start, files(rest(typed, start)))
            }
            Completes::Models => {
                let start = argument(typed, name);
                let typed = rest(typed, start);
                (start, [models(typed), files(typed)].concat())
            }
            Completes::Prompts => {
                let start = last_word(typed);
                (start, self.prompts(rest(typed, argument(typed, name)), rest(typed, start)))
            }
            Completes::Settings => {
                let start = last_word(typed);
                (start, settings(rest(typed, argument(typed, name)), rest(typed, start)))
            }
        };
        candidates.truncate(MOST);
        Ok((start, candidates))
    }
}

impl Helper for Completion {}
impl Highlighter for Completion {}
impl Validator for Completion {}

impl Hinter for Completion {
    type Hint = String;
}

impl Completion {
    /// Returns the addresses and the bookmarks that begin with a text, and the addresses of labels that do.
    fn addresses(&self, typed: &str) -> Result<Vec<Pair>> {
        let Some(chat) = &self.chat else { return Ok(Vec::new()) };
        let (tree, notes) = pollster::block_on(async {
            let tree = chat.tree().await?;
            Ok::<_, alloquy::core::Error>((tree, Annotations::of(&chat.record().await?)?))
        })?;
        let mut candidates = Vec::new();
        for (name, node) in notes.bookmarks() {
            if name.starts_with(typed) {
                let said = tree.node(node).map_or_else(|_| String::new(), |node| node.message.preview(WIDTH));
                candidates.push(pair(name, &format!("{name}  {said}")));
            }
        }
        for (_, node) in tree.walk() {
            let address = tree.position(Some(node.id))?.to_string();
            let label = notes.label(node);
            let has_label = !typed.is_empty() && label.is_some_and(|label| label.starts_with(typed));
            if address.starts_with(typed) || has_label {
                let label = label.map_or_else(String::new, |label| format!(" “{label}”"));
                let said = node.message.preview(WIDTH);
                candidates.push(pair(&address, &format!("{address}{label}  {}: {said}", node.message.role)));
            }
        }
        Ok(candidates)
    }

    /// Returns the prompts that begin with a text; after a prompt, the values that it needs, and then those that it can have.
    fn prompts(&self, argument: &str, typed: &str) -> Vec<Pair> {
        let Some(library) = &self.prompts else { return Vec::new() };
        let mut candidates = Vec::new();
        let Some((name, before)) = argument.split_once(char::is_whitespace) else {
            for name in library.names() {
                let name = name.to_string();
                if name.starts_with(typed) {
                    candidates.push(pair(&format!("{name} "), &name));
                }
            }
            return candidates;
        };
        // A prompt that cannot be read has no values to complete.
        let Some(prompt) = name.parse().ok().and_then(|name| library.prompt(&name).ok()) else {
            return candidates;
        };
        let info = prompt.info();
        let optional = info.variables.difference(&info.required);
        for name in info.required.iter().chain(optional) {
            let beginning = format!("{name}=");
            let is_given = before.split_whitespace().any(|value| value.starts_with(&beginning));
            if beginning.starts_with(typed) && !is_given {
                candidates.push(pair(&beginning, &beginning));
            }
        }
        candidates
    }
}

fn pair(replacement: &str, display: &str) -> Pair {
    Pair { display: on_one_line(display), replacement: replacement.to_owned() }
}

/// Returns where the last word begins: after the last white space.
fn last_word(typed: &str) -> usize {
    typed.trim_end_matches(|character: char| !character.is_whitespace()).len()
}

/// Returns where the argument of a command begins.
fn argument(typed: &str, name: &str) -> usize {
    typed.len() - rest(typed, name.len()).trim_start().len()
}

fn rest(text: &str, start: usize) -> &str {
    text.get(start..).unwrap_or_default()
}

fn commands(typed: &str) -> Vec<Pair> {
    let mut candidates = Vec::new();
    for entry in COMMANDS {
        if entry.name.starts_with(typed) {
            let space = if entry.argument.is_empty() { "" } else { " " };
            candidates.push(pair(&format!("{}{space}", entry.name), entry.name));
        }
    }
    candidates
}

/// Returns the files and folders that begin with a text; hidden ones only where the text has their dot.
fn files(typed: &str) -> Vec<Pair> {
    let (folder, start) = match typed.rfind('/') {
        Some(slash) => typed.split_at(slash + 1),
        None => ("", typed),
    };
    let path = if folder.is_empty() { ".".into() } else { at_home(folder) };
    let mut candidates = Vec::new();
    for entry in fs::read_dir(path).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let Some(name) = name.to_str().filter(|name| !is_hostile(name)) else { continue };
        if !name.starts_with(start) || (name.starts_with('.') && start.is_empty()) {
            continue;
        }
        let slash = if entry.path().is_dir() { "/" } else { "" };
        candidates.push(pair(&format!("{folder}{name}{slash}"), &format!("{name}{slash}")));
    }
    candidates.sort_by(|one, other| one.display.cmp(&other.display));
    candidates
}

fn models(typed: &str) -> Vec<Pair> {
    // A cache that cannot be read has no names.
    let found = found::everywhere().unwrap_or_default();
    let names = found.iter().map(|model| model.name.as_str()).filter(|name| name.starts_with(typed));
    names.filter(|name| !is_hostile(name)).map(|name| pair(name, name)).collect()
}

/// Returns the names of settings, or the values after a name.
fn settings(typed: &str, word: &str) -> Vec<Pair> {
    let choices = match typed.split_once(char::is_whitespace) {
        None => names().into_iter().map(|name| name + " ").collect(),
        Some((name, _)) => [words(name), vec![DEFAULT.to_owned()]].concat(),
    };
    let fitting = choices.iter().filter(|choice| choice.starts_with(word));
    fitting.map(|choice| pair(choice, choice.trim_end())).collect()
}

#[cfg(test)]
mod tests {
    use alloquy_testing::EchoModel;
    use rustyline::history::MemHistory;

    use super::*;

    fn completed(completion: &Completion, line: &str) -> (usize, Vec<String>) {
        let history = MemHistory::new();
        let (start, pairs) = completion.complete(line, line.len(), &Context::new(&history)).unwrap();
        (start, pairs.into_iter().map(|pair| pair.replacement).collect())
    }

    fn texts(line: &str) -> Vec<String> {
        completed(&Completion::default(), line).1
    }

    #[test]
    fn commands_settings_and_their_values_are_completed() {
        assert_eq!(texts("/un"), ["/undo"]);
        assert_eq!(texts("/s"), ["/system ", "/set ", "/save "]);
        assert_eq!(texts("/set tem"), ["temperature "]);
        assert_eq!(texts("/set thinking "), ["on", "off", "default"]);
        assert_eq!(texts("/set thinking of"), ["off"]);
        assert_eq!(texts("/goto "), Vec::<String>::new(), "nothing was said yet");
        assert_eq!(texts("/undo "), Vec::<String>::new());
        assert_eq!(texts("/bark "), Vec::<String>::new());
        assert!(texts("/model po").contains(&"pocket".to_owned()));
    }

    #[test]
    fn files_are_completed_with_their_folder() {
        let folder = tempfile::TempDir::new().unwrap();
        for name in ["cat.png", "car one.png", ".hidden", "b\u{1b}ad"] {
            fs::write(folder.path().join(name), "").unwrap();
        }
        fs::create_dir(folder.path().join("cats")).unwrap();
        let folder = folder.path().display();
        let path = |name: &str| format!("{folder}/{name}");
        assert_eq!(
            texts(&format!("/image {folder}/ca")),
            [path("car one.png"), path("cat.png"), path("cats/")]
        );
        assert_eq!(texts(&format!("/save {folder}/car o")), [path("car one.png")]);
        assert_eq!(texts(&format!("/audio {folder}/")).len(), 3);
        assert_eq!(texts(&format!("/audio {folder}/.h")), [path(".hidden")]);
    }

    #[test]
    fn addresses_bookmarks_and_labels_are_completed() {
        let chat = Conversation::new(EchoModel);
        chat.ask("Tea?").unwrap();
        pollster::block_on(async {
            chat.bookmark("draft", chat.head().await?).await?;
            let answer = chat.resolve("0.0").await?;
            chat.label(answer, Some("formal")).await
        })
        .unwrap();
        let completion = Completion { chat: Some(chat), prompts: None };
        assert_eq!(completed(&completion, "/goto "), (6, vec!["draft".into(), "0".into(), "0.0".into()]));
        assert_eq!(completed(&completion, "/goto 0."), (6, vec!["0.0".into()]));
        assert_eq!(completed(&completion, "/switch form"), (8, vec!["0.0".into()]));
        assert_eq!(completed(&completion, "/diff 0 dr"), (8, vec!["draft".into()]));
    }
    #[test]
    fn prompts_and_their_values_are_completed() {
        let folder = tempfile::TempDir::new().unwrap();
        for (name, text) in [("ask", "Where is {{ thing }} {{ place }}?"), ("answer", "{{ thing }}")] {
            fs::create_dir_all(folder.path().join("user")).unwrap();
            fs::write(
                folder.path().join("user").join(name).with_extension("yaml"),
                format!("template: '{text}'\n"),
            )
            .unwrap();
        }
        let library = alloquy::prompts::FolderLibrary::open(folder.path()).unwrap();
        let completion = Completion { chat: None, prompts: Some(Arc::new(library)) };
        assert_eq!(
            completed(&completion, "/prompt user/a"),
            (8, vec!["user/answer ".into(), "user/ask ".into()])
        );
        assert_eq!(completed(&completion, "/prompt user/ask "), (17, vec!["place=".into(), "thing=".into()]));
        assert_eq!(completed(&completion, "/prompt user/ask thing=tea p"), (27, vec!["place=".into()]));
        assert_eq!(completed(&completion, "/prompt user/ask place=x thing=tea p").1, Vec::<String>::new());
        assert_eq!(completed(&completion, "/prompt other x").1, Vec::<String>::new());
        assert_eq!(completed(&Completion::default(), "/prompt a").1, Vec::<String>::new());
    }
}
