//! Compiles a prompt text: writes the source for the engine.
//!
//! * Each print says where it is, so that a render knows what the printed text may contain: `{{ name }}` becomes
//!   `{{ (name)|__alloquy_from(3) }}`.
//! * `((…))` becomes a condition. Sections in a section do not nest, because each depends on its own variables only:
//!   `((a {{x}}((b {{y}}))))` becomes `{% if any(x, y) %}a {{x}}{% endif %}{% if any(y) %}b {{y}}{% endif %}`.

use std::collections::BTreeSet;
use std::sync::Arc;

use alloquy_core::Result;

use super::super::piece::Problem;
use super::super::tokens::{Token, respell, tokens};
use super::super::{statements, tags};
use super::blocks::{Blocks, DEPTH};
use super::items::{Item, Kind};
use super::names;
use super::problem::invalid;
use super::program::{ANY, AUTHOR, Call, FROM, REFER, Script, Site};
use super::sections::{Mark, Sections, simple_name};

/// How many characters of the code an error quotes.
const QUOTED: usize = 80;

/// Writes the source of a text for the engine. Without sections, spaces around a name are not printed.
pub(super) fn write<'a>(items: &[Item<'a>], sections: Option<&'a Sections<'a>>) -> Result<Script> {
    let mut writer = Writer {
        sections,
        marks: sections.map_or(&[], |sections| sections.marks.as_slice()),
        inside: Vec::new(),
        condition: None,
        blocks: Blocks::new(),
        script: Script { sites: vec![Site::default()], ..Script::default() },
    };
    for (index, item) in items.iter().enumerate() {
        match item.kind {
            Kind::Text => writer.text(index, item.text),
            Kind::Print => writer.print(item)?,
            Kind::Tag => writer.tag(item)?,
            Kind::Comment | Kind::Raw => writer.piece(item.text),
        }
    }
    Ok(writer.finish())
}

struct Writer<'a> {
    /// The sections, if the syntax has them.
    sections: Option<&'a Sections<'a>>,
    /// The ends of sections that follow.
    marks: &'a [Mark],
    /// The conditions of the sections around this place, outermost first: the index of the section that has it.
    inside: Vec<Option<usize>>,
    /// The condition that is written and not yet closed.
    condition: Option<usize>,
    blocks: Blocks<'a>,
    script: Script,
}

impl<'a> Writer<'a> {
    /// Writes plain text, without the brackets of sections.
    fn text(&mut self, index: usize, text: &str) {
        let mut start = 0;
        while let Some((mark, rest)) = self.marks.split_first()
            && mark.place.item == index
        {
            self.cut(text.get(start..mark.place.byte).unwrap_or_default());
            start = mark.place.byte + 2;
            self.marks = rest;
            self.turn(*mark);
        }
        self.piece(text.get(start..).unwrap_or_default());
    }

    /// Enters or leaves a section.
    fn turn(&mut self, mark: Mark) {
        if !mark.opens {
            self.inside.pop();
            return;
        }
        let outer = self.inside.last().copied().flatten();
        let own = self.section_variables(mark.section).is_some_and(|names| !names.is_empty());
        self.inside.push(if own { Some(mark.section) } else { outer });
    }

    fn section_variables(&self, section: usize) -> Option<&'a BTreeSet<&'a str>> {
        let section = self.sections?.sections.get(section)?;
        Some(&section.variables)
    }

    /// Writes the text before the brackets of a section. A brace at its end must not begin code with what follows.
    fn cut(&mut self, text: &str) {
        match text.strip_suffix('{') {
            Some(plain) => {
                self.piece(plain);
                self.piece(&format!("{{{{ '{{'|{FROM}({AUTHOR}) }}}}"));
            }
            None => self.piece(text),
        }
    }

    /// Writes a piece of source under the condition of its section.
    fn piece(&mut self, source: &str) {
        if source.is_empty() {
            return;
        }
        let wanted = self.inside.last().copied().flatten();
        if wanted != self.condition {
            self.end_condition();
            if let Some(names) = wanted.and_then(|section| self.section_variables(section)) {
                let names: Vec<_> = names.iter().copied().collect();
                // The plus keeps the white space around the tag.
                self.script.source.extend(["{%+ if ", ANY, "(", &names.join(", "), ") +%}"]);
            }
            self.condition = wanted;
        }
        self.script.source.push_str(source);
    }

    fn end_condition(&mut self) {
        if self.condition.take().is_some() {
            self.script.source.push_str("{%+ endif +%}");
        }
    }

    fn print(&mut self, item: &Item<'a>) -> Result<()> {
        let code = item.text;
        let (open, inner, close) = tags::parts(code);
        if let Err(problem) = statements::print(inner) {
            let what = "is no expression of Jinja2, write one such as `{{ name }}`";
            return Err(refused(item, problem, what));
        }
        if self.sections.is_some()
            && let Some(name) = simple_name(code)
        {
            self.simple(inner, name);
            return Ok(());
        }
        let (found, _) = tokens(inner).unwrap_or_default();
        let from = self.blocks.print(&found);
        let references = names::references(&found);
        let is_reference = references.first().is_some_and(|reference| reference.is_whole);
        let label = inner.trim().to_owned();
        let site = self.site(Site { from, label: Some(label), is_reference, ..Site::default() });
        let inner = self.referring(inner, &found);
        self.piece(&format!("{open} ({inner})|{FROM}({site}) {close}"));
        Ok(())
    }

    /// Writes a print of a variable and nothing else, with the spaces around its name.
    fn simple(&mut self, inner: &str, name: &'a str) {
        let (before, after) = inner.split_once(name).unwrap_or_default();
        let is_inside = !self.inside.is_empty();
        let (node, is_bound) = self.blocks.tracer.resolve(name);
        if let Some(printed) = tokens(name) {
            self.blocks.print(&printed.0);
        }
        let mut site = Site { from: vec![node], ..Site::default() };
        if is_inside {
            site.hides_none = true;
            before.clone_into(&mut site.before);
            after.clone_into(&mut site.after);
        } else {
            site.label = Some(name.to_owned());
            site.hides_none = !is_bound && before.is_empty() && after.is_empty();
        }
        let site = self.site(site);
        if is_inside {
            // The render prints the spaces. The line feeds keep the lines of errors right.
            let lines = "\n".repeat(inner.matches('\n').count());
            self.piece(&format!("{{{{ {lines}{name}|{FROM}({site}) }}}}"));
        } else {
            self.piece(&format!("{before}{{{{ {name}|{FROM}({site}) }}}}{after}"));
        }
    }

    fn site(&mut self, site: Site) -> usize {
        self.script.sites.push(site);
        self.script.sites.len() - 1
    }

    fn tag(&mut self, item: &Item<'a>) -> Result<()> {
        let code = item.text;
        let (open, inner, close) = tags::parts(code);
        let name = tags::name(code);
        if let Err(problem) = statements::tag(inner) {
            let what = "is no tag of Jinja2, write one such as `{% if name %}`";
            return Err(refused(item, problem, what));
        }
        let (found, _) = tokens(inner).unwrap_or_default();
        let text = self.blocks.tag(name, found.get(1..).unwrap_or_default());
        if self.blocks.is_full() {
            return Err(invalid(item.line, &format!("blocks nest deeper than {DEPTH} levels, use fewer")));
        }
        let inner = self.referring(inner, &found);
        match text {
            Some(node) => {
                let site = self.site(Site { from: vec![node], ..Site::default() });
                self.piece(&format!("{open} {inner}|{FROM}({site}) {close}"));
            }
            None => self.piece(&format!("{open}{inner}{close}")),
        }
        Ok(())
    }

    /// Rewrites the calls of `prompt_ref`, so that a render knows which one it is.
    fn referring(&mut self, inner: &str, found: &[Token<'a>]) -> String {
        let references = names::references(found);
        if references.is_empty() {
            return inner.to_owned();
        }
        let others: Arc<[_]> = self.blocks.nodes(&names::flowing(found)).into();
        let mut written = String::with_capacity(inner.len());
        let mut start = 0;
        for reference in references {
            let call = self.script.calls.len().to_string();
            written.push_str(inner.get(start..reference.start).unwrap_or_default());
            written.extend([REFER, "(", &call, ", "]);
            start = reference.inside;
            self.script.literals.extend(reference.literal.and_then(literal));
            let mut arguments = Vec::new();
            for (name, from) in reference.arguments {
                arguments.push((name.to_owned(), self.blocks.nodes(&from)));
            }
            self.script.calls.push(Call { arguments, others: Arc::clone(&others) });
        }
        written.push_str(inner.get(start..).unwrap_or_default());
        written
    }

    fn finish(mut self) -> Script {
        self.end_condition();
        self.script.flow = self.blocks.tracer.finish();
        let mut variables: Vec<_> = self.script.flow.variables().map(|(name, _)| name.to_owned()).collect();
        variables.sort();
        self.script.variables = variables;
        self.script
    }
}

/// Returns the error of code that is no expression or tag.
fn refused(item: &Item<'_>, problem: Problem, what: &str) -> alloquy_core::Error {
    match problem {
        Problem::Syntax => {
            let quoted: String = item.text.chars().take(QUOTED).collect();
            let rest = if quoted.len() < item.text.len() { "…" } else { "" };
            invalid(item.line, &format!("{:?} {what}", quoted + rest))
        }
        Problem::Depth => {
            invalid(item.line, "code nests too deeply, compute parts of it with `{% set … %}` first")
        }
    }
}

/// Returns the text of a literal.
fn literal(token: &str) -> Option<String> {
    let spelled = respell(token);
    let inner = spelled.get(1..spelled.len().saturating_sub(1))?;
    Some(inner.replace("\\\"", "\"").replace("\\\\", "\\"))
}
