//! Counts constructs of Rust: named closures, tuple lets, matches on booleans, comments inside bodies.

use syn::spanned::Spanned;
use syn::visit::{self, Visit};
use syn::{Arm, Expr, ExprMatch, Lit, Local, Pat};

use super::place::{Count, Place};
use crate::{Error, Result};

/// Returns the code above the tests of a file.
pub(super) fn shipped(text: &str) -> &str {
    match text.find("\n#[cfg(test)]\nmod ") {
        Some(end) => &text[..=end],
        None => text,
    }
}

/// Counts the lines that are neither blank nor comments.
pub(super) fn count_code(code: &str) -> usize {
    code.lines().filter(|line| !line.trim().is_empty() && !line.trim_start().starts_with("//")).count()
}

/// Counts the comments inside bodies: the lines that begin one, at or after the margin of a body.
pub(super) fn count_comments(code: &str) -> usize {
    let mut comments = 0;
    let mut is_within = false;
    for line in code.lines() {
        let trimmed = line.trim_start();
        let is_comment = trimmed.starts_with("// ") && trimmed.len() < line.len();
        if is_comment && !is_within {
            comments += 1;
        }
        is_within = is_comment;
    }
    comments
}

/// Adds the places of a file.
pub(super) fn places(path: &str, code: &str, places: &mut Vec<Place>) -> Result {
    let file = syn::parse_file(code).map_err(|source| Error::new(format!("{path} is not Rust: {source}")))?;
    let mut visitor = Constructs { path, places };
    visitor.visit_file(&file);
    Ok(())
}

struct Constructs<'a> {
    path: &'a str,
    places: &'a mut Vec<Place>,
}

impl Constructs<'_> {
    fn add(&mut self, count: Count, at: &impl Spanned, text: &str) {
        let line = at.span().start().line;
        self.places.push(Place { count, path: self.path.to_owned(), line, text: text.to_owned() });
    }
}

impl<'ast> Visit<'ast> for Constructs<'_> {
    fn visit_local(&mut self, local: &'ast Local) {
        let value = local.init.as_ref().map(|init| &*init.expr);
        match (&local.pat, value) {
            (Pat::Ident(_), Some(Expr::Closure(_))) => {
                self.add(Count::Closures, local, "a closure with a name: write a function, or a loop");
            }
            (Pat::Tuple(_), Some(Expr::Tuple(_))) => {
                self.add(Count::Tuples, local, "several names at once: write one `let` a line");
            }
            _ => {}
        }
        visit::visit_local(self, local);
    }

    fn visit_expr_match(&mut self, expression: &'ast ExprMatch) {
        if expression.arms.iter().any(has_boolean) {
            self.add(Count::Matches, expression, "a match on a boolean: write `if` and `else`");
        }
        visit::visit_expr_match(self, expression);
    }
}

fn has_boolean(arm: &Arm) -> bool {
    is_boolean(&arm.pat)
}

/// Returns whether a pattern is `true`, `false`, or a tuple with one of them.
fn is_boolean(pattern: &Pat) -> bool {
    match pattern {
        Pat::Lit(literal) => matches!(literal.lit, Lit::Bool(_)),
        Pat::Or(or) => or.cases.iter().any(is_boolean),
        Pat::Tuple(tuple) => {
            tuple.elems.iter().all(|part| is_boolean(part) || matches!(part, Pat::Wild(_)))
                && tuple.elems.iter().any(is_boolean)
        }
        _ => false,
    }
}
