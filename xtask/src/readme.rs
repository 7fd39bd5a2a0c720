//! Reads the commands of the README, so that CI runs the documented text. Each is a fenced block below a comment with its name.

use crate::{Error, Result, Tree};

/// Returns the command in the fenced block below `<!-- command: NAME -->` of README.md.
///
/// # Errors
/// When there is no README, no such comment, or no fenced block right below it.
///
/// ```
/// use xtask::{File, Tree, command_named};
///
/// let text = "<!-- command: test -->\n```sh\ncargo test\n```\n".to_owned();
/// let readme = File { path: "README.md".to_owned(), text };
/// let tree = Tree { root: ".".into(), files: vec![readme] };
/// assert_eq!(command_named(&tree, "test")?, "cargo test");
/// assert!(command_named(&tree, "run").is_err());
/// # Ok::<(), xtask::Error>(())
/// ```
pub fn command_named(tree: &Tree, name: &str) -> Result<String> {
    let marker = format!("<!-- command: {name} -->");
    let readme = tree.get("README.md").ok_or_else(|| Error::new("README.md does not exist"))?;
    let (_, below) =
        readme.text.split_once(&marker).ok_or_else(|| missing(&format!("comment `{marker}`")))?;
    let command = fenced(below).ok_or_else(|| missing(&format!("fenced block below `{marker}`")))?.trim();
    if command.is_empty() {
        return Err(missing(&format!("command below `{marker}`")));
    }
    Ok(command.to_owned())
}

fn missing(what: &str) -> Error {
    Error::new(format!("README.md has no {what}"))
}

/// Returns the inside of the fenced block that `text` begins with.
fn fenced(text: &str) -> Option<&str> {
    let (_language, inside) = text.trim_start().strip_prefix("```")?.split_once('\n')?;
    inside.split_once("```").map(|(command, _)| command)
}
