//! Finds the optional sections of a text: `((…))`.
//!
//! Single brackets in a section count: `((a (b)))` is a section with the text `a (b)`.

use std::collections::BTreeSet;
use std::rc::Rc;

use alloquy_core::Result;

use super::super::tags;
use super::super::tokens::{Kind as TokenKind, tokens};
use super::items::{Item, Kind};
use super::names::{is, is_variable};
use super::problem::invalid;

/// How many variables all sections may have together, each counted in every section around it.
const VARIABLES: usize = 300_000;

/// An optional section.
#[derive(Debug, Default)]
pub(super) struct Section<'a> {
    /// The variables in it, and in the sections in it, sorted. It vanishes if all are empty. Without any it never does.
    pub(super) variables: Rc<BTreeSet<&'a str>>,
}

/// Where a section starts or ends: the index of an item, and a byte in its text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Place {
    pub(super) item: usize,
    pub(super) byte: usize,
}

/// An end of a section.
#[derive(Clone, Copy, Debug)]
pub(super) struct Mark {
    pub(super) place: Place,
    pub(super) section: usize,
    pub(super) opens: bool,
}

/// The sections of a text.
#[derive(Debug, Default)]
pub(super) struct Sections<'a> {
    pub(super) sections: Vec<Section<'a>>,
    /// The ends of the sections, in the order of the text.
    pub(super) marks: Vec<Mark>,
}

/// Returns the name of a print that has nothing but a variable: `{{ name }}`.
pub(super) fn simple_name(code: &str) -> Option<&str> {
    let (open, inner, close) = tags::parts(code);
    let name = inner.trim();
    let is_simple = open == "{{" && close == "}}" && !name.is_empty() && name.chars().all(tags::is_word);
    if !is_simple {
        return None;
    }
    let (found, _) = tokens(name)?;
    match found.as_slice() {
        [token] if token.kind == TokenKind::Name && is_variable(token) => Some(token.text),
        _ => None,
    }
}

/// Finds the sections of a text.
pub(super) fn sections<'a>(items: &[Item<'a>]) -> Result<Sections<'a>> {
    let mut finder = Finder::default();
    for (index, item) in items.iter().enumerate() {
        match item.kind {
            Kind::Text => finder.text(index, item.text)?,
            Kind::Print => finder.print(index, item),
            Kind::Tag | Kind::Raw => {
                finder.forbidden = Some(Forbidden { item: index, line: item.line, what: TAG });
            }
            Kind::Comment => {}
        }
    }
    finder.found.marks.sort_by_key(|mark| mark.place);
    Ok(finder.found)
}

const TAG: &str = "a tag is not allowed in an optional section `((…))`, move it out or use the syntax jinja";
const FILTER: &str =
    "a filter is not allowed in an optional section `((…))`, move it out or use the syntax jinja";

/// Something that no section may contain.
#[derive(Clone, Copy, Debug)]
struct Forbidden {
    item: usize,
    line: usize,
    what: &'static str,
}

/// Reads the brackets of a text, in linear time and without recursion.
///
/// A section that is open counts the single brackets since it opened; sections in it count their own. `))` closes the
/// innermost section if its single brackets are balanced, otherwise it is two single brackets. A section that is never
/// closed is plain text.
#[derive(Debug, Default)]
struct Finder<'a> {
    found: Sections<'a>,
    open: Vec<Open<'a>>,
    forbidden: Option<Forbidden>,
    variables: usize,
}

#[derive(Debug)]
struct Open<'a> {
    place: Place,
    brackets: i64,
    /// Shared with the section inside as long as it has no more.
    variables: Rc<BTreeSet<&'a str>>,
}

impl<'a> Open<'a> {
    /// Adds the variables of a section inside.
    fn add(&mut self, variables: &Rc<BTreeSet<&'a str>>) {
        if self.variables.is_empty() {
            self.variables = Rc::clone(variables);
        } else if !variables.is_subset(&self.variables) {
            Rc::make_mut(&mut self.variables).extend(variables.iter());
        }
    }
}

impl<'a> Finder<'a> {
    fn text(&mut self, item: usize, text: &str) -> Result<()> {
        let bytes = text.as_bytes();
        let mut byte = 0;
        while let Some(first) = bytes.get(byte) {
            let is_double = bytes.get(byte + 1) == Some(first);
            let place = Place { item, byte };
            byte += match (first, is_double) {
                (b'(', true) => {
                    self.open.push(Open { place, brackets: 0, variables: Rc::default() });
                    2
                }
                (b')', true) if self.is_balanced() => {
                    self.close(place)?;
                    2
                }
                (b'(', false) => self.count(1),
                (b')', _) => self.count(-1),
                _ => 1,
            };
        }
        Ok(())
    }

    fn is_balanced(&self) -> bool {
        self.open.last().is_some_and(|open| open.brackets == 0)
    }

    /// Counts a single bracket, which has one byte.
    fn count(&mut self, change: i64) -> usize {
        if let Some(open) = self.open.last_mut() {
            open.brackets += change;
        }
        1
    }

    fn close(&mut self, place: Place) -> Result<()> {
        let Some(open) = self.open.pop() else { return Ok(()) };
        if let Some(forbidden) = self.forbidden.filter(|forbidden| forbidden.item > open.place.item) {
            return Err(invalid(forbidden.line, forbidden.what));
        }
        self.variables += open.variables.len();
        if self.variables > VARIABLES {
            let what =
                format!("optional sections `((…))` nest too deeply, with more than {VARIABLES} variables");
            return Err(invalid(1, &what));
        }
        if let Some(outer) = self.open.last_mut() {
            outer.add(&open.variables);
        }
        let section = self.found.sections.len();
        self.found.sections.push(Section { variables: open.variables });
        self.found.marks.push(Mark { place: open.place, section, opens: true });
        self.found.marks.push(Mark { place, section, opens: false });
        Ok(())
    }

    fn print(&mut self, index: usize, item: &Item<'a>) {
        if let Some(name) = simple_name(item.text) {
            if let Some(open) = self.open.last_mut() {
                Rc::make_mut(&mut open.variables).insert(name);
            }
            return;
        }
        let (_, inner, _) = tags::parts(item.text);
        let Some((found, _)) = tokens(inner) else { return };
        let is_filtered = found.get(1).is_some_and(|second| is(second, "|"));
        if is_filtered && found.first().is_some_and(is_variable) {
            self.forbidden = Some(Forbidden { item: index, line: item.line, what: FILTER });
        }
    }
}
