//! Copies the examples of the README from programs of the workspace, so that the shown code compiles.

use crate::{Error, File, Result, Tree};

const PAGE: &str = "README.md";

/// Begins the line above the fenced block of a program: `<!-- example: PATH -->`.
const MARKER: &str = "<!-- example: ";

/// Returns the README with each program in its block, without the header of its file.
///
/// # Errors
/// When there is no README, a program does not exist, or a marker has no fenced block below it.
pub fn readme_with_examples(tree: &Tree) -> Result<File> {
    let readme = tree.get(PAGE).ok_or_else(|| Error::new(format!("{PAGE} does not exist")))?;
    let mut parts = readme.text.split(MARKER);
    let mut text = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        text += MARKER;
        text += &with_program(tree, part)?;
    }
    Ok(File { path: PAGE.to_owned(), text })
}

/// Puts the program that `part` begins with into the block that follows.
fn with_program(tree: &Tree, part: &str) -> Result<String> {
    let Some((path, language, rest)) = cut(part) else {
        return Err(Error::new(format!("{PAGE}: no fenced block right below `{MARKER}…`")));
    };
    let program =
        tree.get(path).ok_or_else(|| Error::new(format!("{PAGE} shows {path}, which does not exist")))?;
    Ok(format!("{path} -->\n```{language}\n{}```\n{rest}", without_header(&program.text)))
}

/// Returns the path and the language of a block, and the text after the block.
fn cut(part: &str) -> Option<(&str, &str, &str)> {
    let (path, rest) = part.split_once(" -->\n")?;
    let (language, rest) = rest.strip_prefix("```")?.split_once('\n')?;
    let (_old, rest) = rest.split_once("```\n")?;
    Some((path, language, rest))
}

fn without_header(program: &str) -> String {
    let lines = program.split_inclusive('\n');
    lines.skip_while(|line| line.starts_with("//!") || line.trim().is_empty()).collect()
}
