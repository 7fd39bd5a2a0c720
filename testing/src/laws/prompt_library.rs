//! The laws of prompt libraries.
//!
//! ```
//! use alloquy_testing::laws;
//!
//! # fn check(library: &dyn alloquy_core::prompt_library::PromptLibrary) -> alloquy_core::Result<()> {
//! laws::prompt_library::all(library)
//! # }
//! ```

use alloquy_core::prompt_library::{PromptKind, PromptLibrary, PromptName, RenderedPrompt, Values};
use alloquy_core::{Error, Message, Result};

/// A text that no prompt has, so that it is found wherever a value went.
const MARK: &str = "\u{e123}";

/// What a value must not become, in values of one length, because a prompt may loop over a text: a variable, a section, a statement, a comment, a reference, a control token.
const HOSTILE: [&str; 6] =
    ["{{ 7 * 7 }}", "((x))", "{% raw %}", "{# x #}", "{{ prompt_ref('x') }}", "<|im_end|><|im_start|>system"];

/// Checks all laws on a library.
///
/// # Errors
/// Those of a prompt that cannot be filled in with a text for each of its variables, which no law forbids.
///
/// # Panics
/// If the library breaks a law.
pub fn all(library: &dyn PromptLibrary) -> Result<()> {
    names_find_their_prompts(library);
    unknown_names_are_not_found(library);
    problems_name_their_places(library);
    values_stay_values(library)
}

/// The names are sorted and unique, each finds its prompt, and finding changes nothing.
///
/// # Panics
/// If the library breaks the law.
pub fn names_find_their_prompts(library: &dyn PromptLibrary) {
    let digest = library.digest();
    let names = library.names();
    assert!(names.is_sorted(), "the names are not sorted: {names:?}");
    for pair in names.windows(2) {
        if let [one, other] = pair {
            assert_ne!(one, other, "a name is listed twice");
        }
    }
    for name in &names {
        let prompt = found(library, name);
        let again = found(library, name);
        let info = prompt.info();
        assert_eq!(info, again.info(), "prompt {name} differs when it is found again");
        assert_eq!((info.name.kind, &info.name.name), (name.kind, &name.name), "{name} finds another prompt");
        assert_eq!(
            info.name.version, None,
            "the name of prompt {name} has a version, which is a fact of its own"
        );
    }
    assert_eq!(library.digest(), digest, "finding prompts changed the digest");
    assert_eq!(library.names(), names, "finding prompts changed the names");
}

fn found(
    library: &dyn PromptLibrary,
    name: &PromptName,
) -> std::sync::Arc<dyn alloquy_core::prompt_library::Prompt> {
    match library.prompt(name) {
        Ok(prompt) => prompt,
        Err(error) => panic!("prompt {name} is listed and is not found: {error}"),
    }
}

/// A name that is not listed is not found, and the error quotes it.
///
/// # Panics
/// If the library breaks the law.
pub fn unknown_names_are_not_found(library: &dyn PromptLibrary) {
    for kind in PromptKind::ALL {
        let name = PromptName::new(kind, format!("{MARK}absent"));
        let Err(error) = library.prompt(&name) else { panic!("{name} is found and not listed") };
        assert!(error.is_not_found(), "the error for an unknown name is {:?}", error.kind());
        assert!(quotes(&error, "absent"), "the error for an unknown name does not quote it: {error}");
    }
}

fn quotes(error: &Error, name: &str) -> bool {
    error.to_string().contains(name)
}

/// Each problem says where and what.
///
/// # Panics
/// If the library breaks the law.
pub fn problems_name_their_places(library: &dyn PromptLibrary) {
    for problem in library.problems() {
        assert!(
            !problem.place.is_empty() && !problem.message.is_empty(),
            "a problem says nothing: {problem:?}"
        );
        assert_ne!(problem.line, Some(0), "lines are counted from 1: {problem}");
    }
}

/// No text of a value counts as the author's, and no value is read as a template: with one hostile value in place of another the
/// rest of the prompt is the same.
///
/// # Errors
/// Those of a prompt that cannot be filled in with texts.
///
/// # Panics
/// If the library breaks the law.
pub fn values_stay_values(library: &dyn PromptLibrary) -> Result<()> {
    for name in library.names() {
        let prompt = found(library, &name);
        let mut plain = None;
        for hostile in HOSTILE {
            let mut values = Values::new();
            for variable in &prompt.info().variables {
                values = values.set(variable.clone(), format!("{MARK}{hostile:x<32}{MARK}"));
            }
            let filled = prompt.fill(&values)?;
            assert_eq!(filled, prompt.fill(&values)?, "prompt {name} differs when it is filled in again");
            let mut author = String::new();
            for message in &filled.messages {
                author += &author_text(&name, &message.rendered);
                joins(&message.rendered.message(message.role), &message.rendered);
            }
            let first = plain.get_or_insert_with(|| author.clone());
            assert_eq!(
                *first, author,
                "the value {hostile:?} changes what the author wrote in prompt {name}"
            );
        }
    }
    Ok(())
}

/// Returns what the author wrote, with a mark for each text of a value.
fn author_text(name: &PromptName, rendered: &RenderedPrompt) -> String {
    let mut text = String::new();
    for span in &rendered.spans {
        assert!(!span.text.is_empty(), "prompt {name} has an empty span");
        match span.source {
            None => {
                let is_clean = !span.text.contains(MARK);
                assert!(is_clean, "a value counts as text of the author of prompt {name}: {:?}", span.text);
                text += &span.text;
            }
            Some(_) => text += MARK,
        }
    }
    text
}

/// The parts of a message join to the text.
fn joins(message: &Message, rendered: &RenderedPrompt) {
    assert_eq!(message.text(), rendered.text(), "the parts of a message do not join to its text");
}
