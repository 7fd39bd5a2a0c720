//! Keeps text from becoming a control token: marks it before a template renders it, and cuts it out of the prompt afterwards.
//!
//! A text is marked where it contains a control token, or something that a template might turn into one:
//!
//! - a control token in other capitals,
//! - a part of a control token at an edge of the text,
//! - two parts with words between them that some template removes.
//!
//! The mark is one private-use character that no text of the conversation contains. It is *inside* the token, after its first
//! character: `<|im_end|>` becomes `<M|im_end|>`. Therefore
//!
//! - a template that strips white space strips the same as without the mark;
//! - what a template prints is not a control token, whatever it does to the text;
//! - nothing is left open when a template cuts a text, because no mark has a counterpart.
//!
//! A character that is a whole control token is the exception. Another private-use character takes its place, because a
//! template that prints a text character by character would separate the two.
//!
//! Afterwards, every control token with a marked place in it becomes [`PromptPart::Literal`]. Templates that print a list or an
//! object write the mark as Python's `repr` or ASCII JSON does; these forms are recognized.
//!
//! Bare words are marked only in names, because templates write `'<' + name + '>'`. `docs/injection.md` describes what is
//! checked, and how.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::ops::Range;

use alloquy_core::arguments::InjectionPolicy;
use alloquy_core::model_info::ModelInfo;
use alloquy_core::processor::PromptPart;
use alloquy_core::template::TemplateInput;
use alloquy_core::tokenizer::SpecialToken;
use alloquy_core::{Error, ErrorKind, Result};

use super::edges::Edges;
use super::look_alikes::LookAlikes;
use super::mark::{self, MARKS, Mark, marked_in};
use super::quotes::{self, Quotes};
use super::rewrites;
use super::specials::Specials;
use super::texts::{self, Voice};
use crate::configured::Configured;

/// The texts that must stay text.
#[derive(Clone, Debug)]
pub(crate) struct Literals {
    specials: Specials,
    edges: Edges,
    /// Other texts that the tokenizer turns into control tokens; `None` if there are none.
    look_alikes: Option<LookAlikes>,
    /// The tags that the model itself may write. They stay control tokens in its old replies.
    spoken: BTreeSet<String>,
}

impl Literals {
    /// Takes the control tokens from the description of the model.
    pub(crate) fn new(family: &Configured, model: &ModelInfo) -> Self {
        Self::with(family, model, &[])
    }

    /// Takes the control tokens from the description of the model, and adds further texts.
    pub(crate) fn with(family: &Configured, model: &ModelInfo, further: &[&str]) -> Self {
        let mut control = Vec::new();
        for special in &model.specials {
            if is_control(special, family, model) {
                control.push(special);
            }
        }
        control.extend(&model.bos);
        let ids: BTreeSet<_> = control.iter().map(|special| special.id).collect();
        let texts = control.iter().map(|special| special.text.as_str());
        let specials = Specials::new(texts.chain(further.iter().copied()));
        let tags = family.data.tags.iter().map(String::as_str);
        Self {
            edges: Edges::new(specials.texts()),
            specials,
            look_alikes: model.normalizer.clone().and_then(|normalizer| LookAlikes::new(normalizer, &ids)),
            spoken: family.markers().chain(tags).map(str::to_owned).collect(),
        }
    }

    /// Returns the same without the control tokens that `policy` lets through from every source.
    ///
    /// A copy is made only if there are such tokens, because large vocabularies have thousands of control tokens.
    pub(crate) fn without_let_through(&self, policy: &InjectionPolicy) -> Cow<'_, Self> {
        if policy.tokens().next().is_none() {
            return Cow::Borrowed(self);
        }
        let mut kept: Vec<&str> = self.specials.texts().collect();
        for token in policy.tokens() {
            kept.retain(|text| *text != token.trim());
        }
        let specials = Specials::new(kept);
        Cow::Owned(Self {
            edges: Edges::new(specials.texts()),
            specials,
            look_alikes: self.look_alikes.clone(),
            spoken: self.spoken.clone(),
        })
    }

    /// Returns the control tokens in `text` as a tokenizer finds them, and where each begins.
    pub(crate) fn tokens_in<'t>(&self, text: &'t str) -> impl Iterator<Item = (usize, &'t str)> {
        let mut seen = 0;
        std::iter::from_fn(move || {
            let (start, token) = self.specials.next_in(text, seen)?;
            seen = start + token.len();
            Some((start, token))
        })
    }

    /// Turns literal parts into texts if they contain no control token, neither alone nor with the texts around them.
    ///
    /// A border between two texts may change their tokens, so the texts are joined.
    pub(crate) fn without_needless(&self, parts: Vec<PromptPart>) -> Vec<PromptPart> {
        let mut joined: Vec<PromptPart> = Vec::with_capacity(parts.len());
        let mut parts = parts.into_iter().peekable();
        while let Some(part) = parts.next() {
            let before = text_of(joined.last());
            let after = text_of(parts.peek());
            let part = match part {
                PromptPart::Literal(text) if self.is_needless(before, &text, after) => PromptPart::Text(text),
                other => other,
            };
            match (joined.last_mut(), part) {
                (Some(PromptPart::Text(before)), PromptPart::Text(text)) => before.push_str(&text),
                (_, part) => joined.push(part),
            }
        }
        joined
    }

    fn is_needless(&self, before: &str, text: &str, after: &str) -> bool {
        let whole = [before, text, after].concat();
        let literal = before.len()..before.len() + text.len();
        for (start, token) in self.tokens_in(&whole) {
            if start < literal.end && start + token.len() > literal.start {
                return false;
            }
        }
        self.look_alikes.is_none()
    }

    /// Returns whether `token` is a tag of the model, which its replies always keep.
    pub(crate) fn is_spoken(&self, token: &str) -> bool {
        self.spoken.contains(token)
    }

    /// Marks every text of `input` that contains a control token's text, and returns the mark; `None` if there is nothing to
    /// mark.
    ///
    /// # Errors
    /// [`ErrorKind::Unsupported`] if a conversation contains every character that could be the mark.
    pub(crate) fn protect(&self, input: &mut TemplateInput, quotes: &Quotes) -> Result<Option<Mark>> {
        let mark = self.mark(input, quotes)?;
        if let Some(mark) = &mark {
            texts::each(input, &mut |voice, text| {
                let starts = self.starts(voice, text);
                if !starts.is_empty() {
                    *text = mark.put(text, &starts);
                }
            });
        }
        Ok(mark)
    }

    /// Reverts [`Literals::protect`] in a rendered prompt, and cuts it into parts. `input` is the unmarked input.
    ///
    /// # Errors
    /// As [`Literals::protect`].
    pub(crate) fn cut(
        &self,
        rendered: &str,
        input: &mut TemplateInput,
        quotes: &Quotes,
    ) -> Result<Vec<PromptPart>> {
        let Some(mark) = self.mark(input, quotes)? else {
            return Ok(vec![PromptPart::Text(rendered.to_owned())]);
        };
        let (text, starts) = mark.take(rendered);
        let mut literals = self.marked(&text, &starts);
        if let Some(look_alikes) = &self.look_alikes {
            for (place, range) in look_alikes.marked(&text, &starts, &literals) {
                literals.push(range.start..self.end(&text, place, range.end, &starts));
            }
            literals.sort_unstable_by_key(|literal| literal.start);
        }
        Ok(parts(&text, &literals))
    }

    /// Returns the ranges of the control tokens that have a marked place in them. Like a tokenizer, it reads from the left and
    /// takes the longest token.
    fn marked(&self, text: &str, starts: &[usize]) -> Vec<Range<usize>> {
        let mut literals = Vec::new();
        let mut seen = 0;
        while let Some((start, special)) = self.specials.next_in(text, seen) {
            seen = start + special.len();
            if let Some(place) = marked_in(starts, start, seen) {
                seen = self.end(text, place, seen, starts);
                literals.push(start..seen);
            }
        }
        literals
    }

    /// Returns where the literal around `place` ends: at `end`, or before a control token of the template that begins earlier.
    ///
    /// With the token `[e~[`, the text `[e~` and the template's `[e~[` are printed as `[e~[e~[`. The template's token begins
    /// inside the text's, and must stay whole.
    fn end(&self, text: &str, place: usize, end: usize, starts: &[usize]) -> usize {
        for from in place + 1..end {
            for own in self.specials.beginning(text.get(from..).unwrap_or_default()) {
                let own_end = from + own.len();
                if own_end > end && marked_in(starts, from, own_end).is_none() {
                    return from;
                }
            }
        }
        end
    }

    /// Chooses the mark and its substitutes; `None` if there is nothing to mark.
    fn mark(&self, input: &mut TemplateInput, quotes: &Quotes) -> Result<Option<Mark>> {
        let mut census = Census::default();
        texts::each(input, &mut |voice, text| self.count(text, &self.starts(voice, text), &mut census));
        for (index, message) in input.messages.iter_mut().enumerate() {
            if let Some(quotes) = quotes.of_message(index) {
                let author = quotes::author_of(message);
                quotes::each_text_mut(message, |index, text| {
                    let starts = self.quoting_starts(author, text, quotes.of_text(index));
                    self.count(text, &starts, &mut census);
                });
            }
        }
        if !census.is_needed {
            return Ok(None);
        }
        let mut free = (MARKS.0..=MARKS.1).rev().filter(|symbol| !census.used.contains(symbol));
        let mark = free.next();
        let substitutes: Vec<_> = census.alone.iter().copied().zip(free).collect();
        match mark {
            Some(mark) if substitutes.len() == census.alone.len() => Ok(Some(Mark::new(mark, substitutes))),
            _ => {
                let message = "the conversation uses every private-use character of plane 16: none is left to mark with";
                Err(Error::new(ErrorKind::Unsupported, message))
            }
        }
    }

    /// Adds a text with its places to mark.
    fn count(&self, text: &str, starts: &[usize], census: &mut Census) {
        census.is_needed |= !starts.is_empty();
        for start in starts {
            if let Some(symbol) = text.get(*start..).and_then(|rest| rest.chars().next())
                && self.is_alone(symbol)
            {
                census.alone.insert(symbol);
            }
        }
        let symbols = text.chars().chain(mark::escaped(text));
        census.used.extend(symbols.filter(|symbol| *symbol >= MARKS.0));
    }

    /// Returns whether `symbol` is a whole control token.
    fn is_alone(&self, symbol: char) -> bool {
        self.specials.is_one(symbol.encode_utf8(&mut [0; 4]))
            || self.look_alikes.as_ref().is_some_and(|look_alikes| look_alikes.is_alone(symbol))
    }

    /// Returns the places of `text` to mark, sorted. There a control token begins, before or after a template rewrites the text,
    /// or there is a part that a template might complete.
    pub(super) fn starts(&self, voice: Voice, text: &str) -> Vec<usize> {
        let pieces = self.pieces(voice, text);
        let mut starts = Vec::new();
        for (from, piece) in &pieces {
            let edges = match voice {
                Voice::Name => self.edges.of_name(piece),
                Voice::Model | Voice::Other => self.edges.of(piece),
            };
            starts.extend(edges.into_iter().map(|edge| from + edge));
            if let Some(look_alikes) = &self.look_alikes {
                starts.extend(look_alikes.starts(voice, piece).into_iter().map(|start| from + start));
            }
        }
        if self.specials.may_begin_in(text) {
            starts.extend(self.beginnings(voice, text));
            rewrites::each(text, |rewritten, places| {
                let begun = self.beginnings(voice, rewritten).into_iter();
                starts.extend(begun.filter_map(|start| places.get(start)));
            });
        }
        if voice == Voice::Model {
            // A rewritten text may have no tags any more, so what begins inside of a tag is left out here.
            starts.retain(|start| {
                pieces.iter().any(|(from, piece)| (*from..from + piece.len()).contains(start))
            });
        }
        starts.sort_unstable();
        starts
    }

    /// Returns the pieces of a text that may have something to mark, and where each begins: of a reply the texts between the
    /// model's tags, else the whole text.
    fn pieces<'t>(&self, voice: Voice, text: &'t str) -> Vec<(usize, &'t str)> {
        if voice == Voice::Model { self.between_tags(text) } else { vec![(0, text)] }
    }

    /// Cuts a reply at the model's tags. Each piece has edges of its own, because templates remove thinking and join the texts
    /// around it.
    fn between_tags<'t>(&self, text: &'t str) -> Vec<(usize, &'t str)> {
        let mut pieces = Vec::new();
        let mut start = 0;
        for (place, _) in text.char_indices() {
            let rest = text.get(place..).unwrap_or_default();
            let tag = self.spoken.iter().find(|tag| place >= start && rest.starts_with(tag.as_str()));
            if let Some(tag) = tag {
                pieces.push((start, text.get(start..place).unwrap_or_default()));
                start = place + tag.len();
            }
        }
        pieces.push((start, text.get(start..).unwrap_or_default()));
        pieces
    }

    /// Returns where control tokens begin, in any capitals. In a reply, nothing begins inside of the model's tags.
    fn beginnings(&self, voice: Voice, text: &str) -> Vec<usize> {
        let mut beginnings = Vec::new();
        for (from, piece) in self.pieces(voice, text) {
            for (start, _) in piece.char_indices() {
                // A token may extend over the end of its piece.
                let rest = text.get(from + start..).unwrap_or_default();
                if self.specials.nearly_beginning(rest).next().is_some() {
                    beginnings.push(from + start);
                }
            }
        }
        beginnings
    }
}

/// The facts of a conversation that decide the mark.
#[derive(Default)]
struct Census {
    /// Whether there is anything to mark.
    is_needed: bool,
    /// The private-use characters that the conversation contains, as characters or as escapes.
    used: BTreeSet<char>,
    /// The characters to mark that are whole control tokens. Each needs a substitute.
    alone: BTreeSet<char>,
}

/// Returns whether an added token controls something: a family's ordinary tokens do not, unless they begin or end a text.
fn is_control(special: &SpecialToken, family: &Configured, model: &ModelInfo) -> bool {
    !family.ordinary.contains(&special.text)
        || model.stop_tokens.contains(&special.id)
        || model.bos.as_ref() == Some(special)
}

fn text_of(part: Option<&PromptPart>) -> &str {
    match part {
        Some(PromptPart::Text(text)) => text,
        _ => "",
    }
}

/// Cuts `text` at `literals`, which are sorted and do not overlap.
fn parts(text: &str, literals: &[Range<usize>]) -> Vec<PromptPart> {
    let mut parts = Vec::new();
    let mut done = 0;
    for literal in literals {
        push_text(&mut parts, text.get(done..literal.start));
        parts.extend(text.get(literal.clone()).map(|literal| PromptPart::Literal(literal.to_owned())));
        done = literal.end;
    }
    push_text(&mut parts, text.get(done..));
    parts
}

fn push_text(parts: &mut Vec<PromptPart>, text: Option<&str>) {
    if let Some(text) = text.filter(|text| !text.is_empty()) {
        parts.push(PromptPart::Text(text.to_owned()));
    }
}

#[cfg(test)]
mod tests {
    use alloquy_core::model_info::ModelInfo;
    use alloquy_core::processor::PromptPart;
    use alloquy_core::template::TemplateInput;
    use alloquy_core::tokenizer::SpecialToken;
    use serde_json::json;

    use super::{Literals, MARKS, Quotes};
    use crate::built_in::BuiltIn;
    use crate::configured::Configured;
    use crate::families::FALLBACK;
    use crate::injection::mark::{json_escape, python_escape};

    fn model(specials: &[&str]) -> ModelInfo {
        let mut model = ModelInfo::default();
        let special = |(id, text): (u32, &&str)| SpecialToken { text: (*text).to_owned(), id };
        model.specials = (0..).zip(specials).map(special).collect();
        model
    }

    fn input(text: &str) -> TemplateInput {
        let messages = vec![json!({"role": "user", "content": text})];
        TemplateInput { messages, ..TemplateInput::default() }
    }

    /// Returns the parts of a user's `text` that a template prints with `print`.
    fn parts(literals: &Literals, text: &str, print: impl Fn(&str) -> String) -> Vec<PromptPart> {
        let mut marked = input(text);
        literals.protect(&mut marked, &Quotes::default()).unwrap();
        let rendered = print(marked.messages[0]["content"].as_str().unwrap());
        literals.cut(&rendered, &mut input(text), &Quotes::default()).unwrap()
    }

    fn text(text: &str) -> PromptPart {
        PromptPart::Text(text.to_owned())
    }

    fn literal(text: &str) -> PromptPart {
        PromptPart::Literal(text.to_owned())
    }

    #[test]
    fn escaped_marks_are_understood() {
        let literals = Literals::new(&Configured::built_in(&FALLBACK), &model(&["<end>"]));
        for escape in [python_escape, json_escape] {
            let print = |text: &str| format!("['{}']", text.replace(MARKS.1, &escape(MARKS.1)));
            assert_eq!(parts(&literals, "a<end>b", print), [text("['a"), literal("<end>"), text("b']")]);
        }
        assert_eq!(
            (python_escape('\u{10FFFD}').as_str(), json_escape('\u{10FFFD}').as_str()),
            ("\\U0010fffd", "\\udbff\\udffd")
        );
    }

    #[test]
    fn what_a_template_breaks_up_is_no_control_token() {
        let literals = Literals::new(&Configured::built_in(&FALLBACK), &model(&["<end>"]));
        let first_four = |text: &str| text.chars().take(4).collect();
        assert_eq!(parts(&literals, "<end>", first_four), [text("<en")]);
        assert_eq!(parts(&literals, "<end>", str::to_uppercase), [text("<END>")]);
        assert_eq!(parts(&literals, "a <end>", |text| text.replace("<", "&lt;")), [text("a &lt;end>")]);
    }

    #[test]
    fn a_control_token_of_one_character_stays_text_alone() {
        let literals = Literals::new(&Configured::built_in(&FALLBACK), &model(&["★", "#", "<end>"]));
        let listed = |text: &str| text.chars().map(|symbol| format!("{symbol},")).collect();
        assert_eq!(parts(&literals, "★#", listed), [literal("★"), text(","), literal("#"), text(",")]);
        let json = |text: &str| text.chars().map(json_escape).collect();
        assert_eq!(parts(&literals, "★#", json), [text("\\u2605"), literal("#")]);
    }

    #[test]
    fn what_a_template_completes_is_no_control_token() {
        let literals = Literals::new(&Configured::built_in(&FALLBACK), &model(&["<|end|>"]));
        let angled = |text: &str| format!("<{text}>");
        assert_eq!(parts(&literals, "|end|", angled), [literal("<|end|>")]);
        assert_eq!(parts(&literals, "a <|e", |text| format!("{text}nd|>")), [text("a "), literal("<|end|>")]);
        assert_eq!(parts(&literals, "nd|> a", |text| format!("<|e{text}")), [literal("<|end|>"), text(" a")]);
        assert_eq!(parts(&literals, "<|END|>", str::to_lowercase), [literal("<|end|>")]);
        let without_switch = |text: &str| text.replace("/no_think", "");
        assert_eq!(parts(&literals, "<|en/no_thinkd|>", without_switch), [literal("<|end|>")]);
        let literals = Literals::new(&Configured::built_in(&FALLBACK), &model(&["[e~["]));
        let closed = |text: &str| format!("{text}[e~[");
        assert_eq!(parts(&literals, "a [e~", closed), [text("a "), literal("[e~"), text("[e~[")]);
        let literals = Literals::new(&Configured::built_in(&FALLBACK), &model(&["<|end|>"]));
        // A part that the template does not complete is text.
        assert_eq!(parts(&literals, "a <|e", str::to_owned), [text("a <|e")]);
    }

    #[test]
    fn a_parameter_that_is_required_stays_required() {
        let literals = Literals::new(&Configured::built_in(&FALLBACK), &model(&["<|end|>"]));
        for name in ["end", "nd|> x", "<|end|>", "x"] {
            let tool = json!({"parameters": {"properties": {name: {}}, "required": [name]}});
            let mut input = TemplateInput { tools: Some(vec![tool]), ..input("<|end|>") };
            literals.protect(&mut input, &Quotes::default()).unwrap();
            let parameters = &input.tools.unwrap()[0]["parameters"];
            let required = parameters["required"][0].as_str().unwrap();
            assert!(parameters["properties"].get(required).is_some(), "{parameters}");
        }
    }

    #[test]
    fn tags_of_the_model_stay_tags_at_the_edge_of_its_text() {
        static FAMILY: BuiltIn = BuiltIn { tags: &["<think>"], ..BuiltIn::PLAIN };
        let literals = Literals::new(&Configured::built_in(&FAMILY), &model(&["<think>", ">>END<<"]));
        let mut input = input("Well <think>");
        input.messages[0]["role"] = "assistant".into();
        let unmarked = input.clone();
        literals.protect(&mut input, &Quotes::default()).unwrap();
        assert_eq!(input, unmarked);
        input.messages[0]["content"] = ">>E<think>ND<< a".into();
        literals.protect(&mut input, &Quotes::default()).unwrap();
        assert_eq!(input.messages[0]["content"], ">\u{10FFFD}>E<think>ND<<\u{10FFFD} a");
    }

    #[test]
    fn an_escape_in_a_text_is_no_mark() {
        let literals = Literals::new(&Configured::built_in(&FALLBACK), &model(&["<end>"]));
        for escape in [python_escape(MARKS.1), json_escape(MARKS.1)] {
            let said = format!("<end>{escape}");
            assert_eq!(parts(&literals, &said, str::to_owned), [literal("<end>"), text(&escape)]);
        }
    }

    #[test]
    fn the_longest_of_nested_tokens_is_one_part() {
        let literals = Literals::new(&Configured::built_in(&FALLBACK), &model(&["<e>", "x<e>", "<e>y", "é"]));
        assert_eq!(parts(&literals, "x<e>y", str::to_owned), [literal("x<e>"), text("y")]);
        assert_eq!(parts(&literals, "<e>y<e>", str::to_owned), [literal("<e>y"), literal("<e>")]);
        assert_eq!(parts(&literals, " é", |text| text.trim().to_owned()), [literal("é")]);
    }

    #[test]
    fn ordinary_tokens_are_marked_only_where_they_begin_or_end_a_text() {
        static FAMILY: BuiltIn = BuiltIn { ordinary: &["<b>", "<s>", "</s>"], ..BuiltIn::PLAIN };
        let mut model = model(&["<b>", "<s>", "</s>"]);
        model.bos = model.specials.get(1).cloned();
        model.stop_tokens = vec![2];
        let literals = Literals::new(&Configured::built_in(&FAMILY), &model);
        assert_eq!(
            parts(&literals, "<b><s></s>", str::to_owned),
            [text("<b>"), literal("<s>"), literal("</s>")]
        );
    }

    #[test]
    fn a_conversation_that_leaves_no_mark_is_refused() {
        let literals = Literals::new(&Configured::built_in(&FALLBACK), &model(&["<end>"]));
        let every: String = (MARKS.0..=MARKS.1).collect();
        assert!(literals.protect(&mut input(&every), &Quotes::default()).is_ok());
        let error = literals.protect(&mut input(&(every + "<end>")), &Quotes::default()).unwrap_err();
        insta::assert_snapshot!(error, @"the conversation uses every private-use character of plane 16: none is left to mark with");
    }
}
