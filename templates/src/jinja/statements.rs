//! Rewrites the expressions in the code of a tag.
//!
//! Reference: the statements of `jinja2/parser.py` of Jinja2 3.1.

use super::expressions::Expressions;
use super::piece::Problem;

/// The function that reports that there is no other template to load.
pub(super) const NO_LOADER: &str = "__alloquy_no_loader";

type Result<T> = std::result::Result<T, Problem>;

/// Rewrites the code between the delimiters of a print.
pub(super) fn print(code: &str) -> Result<String> {
    let mut code = Expressions::new(code)?;
    let printed = code.list()?;
    Ok(printed + &code.end()?)
}

/// Rewrites the code between the delimiters of a tag.
pub(super) fn tag(code: &str) -> Result<String> {
    let mut code = Expressions::new(code)?;
    let name = code.name()?;
    let rest = match name.trim_start() {
        "if" | "elif" => code.list()?,
        "for" => for_loop(&mut code)?,
        "set" => set(&mut code)?,
        "with" => with(&mut code)?,
        "macro" => signature(&mut code)?,
        "call" => call(&mut code)?,
        "filter" => filters(&mut code)?,
        "autoescape" => code.single()?,
        _ => code.rest(),
    };
    Ok(format!("{name} {rest}{}", code.end()?))
}

fn for_loop(code: &mut Expressions<'_>) -> Result<String> {
    let targets = code.until(&["in"]);
    let mut text = format!("{targets} {} {}", code.expect("in")?, code.iterable()?);
    if let Some(word) = code.take("if") {
        text.extend([" ", &word, " ", &code.single()?]);
    }
    if let Some(word) = code.take("recursive") {
        text.extend([" ", &word]);
    }
    Ok(text)
}

/// Rewrites an assignment, or the head of a block with filters.
fn set(code: &mut Expressions<'_>) -> Result<String> {
    let mut text = code.until(&["=", "|"]);
    if let Some(equals) = code.take("=") {
        text.extend([&equals, " ", &code.value()?]);
    } else if let Some(pipe) = code.take("|") {
        text.extend([pipe, filters(code)?]);
    }
    Ok(text)
}

fn with(code: &mut Expressions<'_>) -> Result<String> {
    let mut text = String::new();
    while !code.is_done() {
        text.push_str(&code.until(&["="]));
        text.extend([&code.expect("=")?, " ", &code.single_value()?]);
        match code.take(",") {
            Some(comma) => text.extend([comma.as_str(), " "]),
            None => break,
        }
    }
    Ok(text)
}

fn signature(code: &mut Expressions<'_>) -> Result<String> {
    let name = code.name()?;
    let parameters = code.parameters()?;
    if parameters.ends_with(", )") { Err(Problem::Syntax) } else { Ok(name + &parameters) }
}

fn call(code: &mut Expressions<'_>) -> Result<String> {
    let parameters = if code.is("(") { code.parameters()? } else { String::new() };
    Ok(format!("{parameters} {}", code.single()?))
}

fn filters(code: &mut Expressions<'_>) -> Result<String> {
    let mut text = String::new();
    code.filter(&mut text)?;
    while let Some(pipe) = code.take("|") {
        text.push_str(&pipe);
        code.filter(&mut text)?;
    }
    Ok(text)
}
