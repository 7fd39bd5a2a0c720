//! Keeps text from becoming a control token: marks before a template renders it, literal parts afterwards.
//! Knows which texts could, not where they stand.
//!
//! Only when a text contains the text of a control token, or what a template might make one of, is anything marked:
//! a token in other capitals, a part of one at an edge of the text, one that comes together when words are taken
//! out. The mark is one private-use character that no text of the conversation contains, and it stands *inside* the
//! token's text, behind its first character: `<|im_end|>` becomes `<M|im_end|>`. So
//!
//! * a template that strips white space strips what it would have stripped without the mark;
//! * whatever a template does to the text, what it prints is no control token any more;
//! * nothing has to be balanced: a template that cuts a text short leaves nothing open.
//!
//! A character that is a whole control token by itself is the exception: another private-use character stands there
//! instead, for a template that prints a text character by character would part the two.
//!
//! Afterwards every control token with a marked place in it becomes [`PromptPart::Literal`], wherever it begins.
//! Templates that print a list or an object write the mark as Python's `repr` or ASCII JSON does; that is understood.
//!
//! Bare words are marked where they name something, for templates write `'<' + name + '>'`; elsewhere they are never.
//! `docs/injection.md` says what is checked, and how.

use std::collections::BTreeSet;
use std::ops::Range;

use alloquy_core::arguments::InjectionPolicy;
use alloquy_core::model_info::ModelInfo;
use alloquy_core::processor::PromptPart;
use alloquy_core::template::TemplateInput;
use alloquy_core::tokenizer::SpecialToken;
use alloquy_core::{Error, ErrorKind, Result};

use super::disguises::Disguises;
use super::edges::Edges;
use super::mark::{self, MARKS, Mark, marked_in};
use super::quotes::{self, Quotes};
use super::rewrites;
use super::specials::Specials;
use super::texts::{self, Voice};
use crate::configured::Configured;

/// Which texts must stay text.
#[derive(Debug)]
pub(crate) struct Literals {
    specials: Specials,
    edges: Edges,
    /// Other spellings that the tokenizer makes control tokens of, where it does.
    disguises: Option<Disguises>,
    /// What the model itself may write: its replies keep these as the tokens they were.
    spoken: BTreeSet<String>,
}

impl Literals {
    /// Takes the control tokens from what the model says of itself.
    pub(crate) fn new(family: &Configured, model: &ModelInfo) -> Self {
        Self::with(family, model, &[])
    }

    /// Takes further texts beside them.
    pub(crate) fn with(family: &Configured, model: &ModelInfo, further: &[&str]) -> Self {
        let ordinary = |special: &SpecialToken| {
            family.ordinary.contains(&special.text) && !model.stop_tokens.contains(&special.id)
        };
        let control = |special: &&SpecialToken| !ordinary(special) || model.bos.as_ref() == Some(special);
        let specials = model.specials.iter().filter(control).chain(&model.bos);
        let ids: BTreeSet<_> = specials.clone().map(|special| special.id).collect();
        let texts = specials.map(|special| special.text.as_str()).chain(further.iter().copied());
        let specials = Specials::new(texts);
        Self {
            edges: Edges::new(specials.texts()),
            specials,
            disguises: model.normalizer.clone().and_then(|normalizer| Disguises::new(normalizer, &ids)),
            spoken: family
                .markers()
                .chain(family.data.tags.iter().map(String::as_str))
                .map(str::to_owned)
                .collect(),
        }
    }

    /// The same without the control tokens that `policy` lets through whoever writes them.
    pub(crate) fn without(&self, policy: &InjectionPolicy) -> Self {
        let is_let = |text: &&str| policy.tokens().any(|token| token.trim() == *text);
        let specials = Specials::new(self.specials.texts().filter(|text| !is_let(text)));
        Self {
            edges: Edges::new(specials.texts()),
            specials,
            disguises: self.disguises.clone(),
            spoken: self.spoken.clone(),
        }
    }

    /// Returns the control tokens that `text` spells, as a tokenizer reads it, and where each begins.
    pub(crate) fn spelled_in<'t>(&self, text: &'t str) -> impl Iterator<Item = (usize, &'t str)> {
        let mut seen = 0;
        std::iter::from_fn(move || {
            let (start, token) = self.specials.next_in(text, seen)?;
            seen = start + token.len();
            Some((start, token))
        })
    }

    /// Makes texts again of literal parts that spell no control token, neither alone nor with the texts beside them: a
    /// border between two texts may change their tokens.
    pub(crate) fn without_needless(&self, parts: Vec<PromptPart>) -> Vec<PromptPart> {
        let mut joined: Vec<PromptPart> = Vec::with_capacity(parts.len());
        let mut parts = parts.into_iter().peekable();
        while let Some(part) = parts.next() {
            let before = match joined.last() {
                Some(PromptPart::Text(before)) => before.as_str(),
                _ => "",
            };
            let behind = match parts.peek() {
                Some(PromptPart::Text(behind)) => behind.as_str(),
                _ => "",
            };
            let part = match part {
                PromptPart::Literal(text) if self.is_needless(before, &text, behind) => {
                    PromptPart::Text(text)
                }
                other => other,
            };
            match (joined.last_mut(), part) {
                (Some(PromptPart::Text(before)), PromptPart::Text(text)) => before.push_str(&text),
                (_, part) => joined.push(part),
            }
        }
        joined
    }

    fn is_needless(&self, before: &str, text: &str, behind: &str) -> bool {
        let whole = [before, text, behind].concat();
        let literal = before.len()..before.len() + text.len();
        let (mut seen, mut is_spelled) = (0, false);
        while let Some((start, token)) = self.specials.next_in(&whole, seen) {
            seen = start + token.len();
            is_spelled |= start < literal.end && seen > literal.start;
        }
        !is_spelled && self.disguises.is_none()
    }

    /// Says whether `token` is a tag that the model's replies keep in any case.
    pub(crate) fn is_spoken(&self, token: &str) -> bool {
        self.spoken.contains(token)
    }

    /// Marks every text of `input` that contains a control token's text, and returns the mark; `None` when there is
    /// nothing to mark.
    ///
    /// # Errors
    /// [`ErrorKind::Unsupported`] when a conversation uses up every character that could mark.
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

    /// Undoes [`Literals::protect`] in what was rendered from `input`, which is given as it was before.
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
        let mut literals = self.spelled(&text, &starts);
        if let Some(disguises) = &self.disguises {
            let disguised = disguises.marked(&text, &starts, &literals);
            let trimmed = disguised.into_iter().map(|(place, range)| {
                let end = self.end(&text, place, range.end, &starts);
                range.start..end
            });
            literals.extend(trimmed);
            literals.sort_unstable_by_key(|literal| literal.start);
        }
        Ok(parts(&text, &literals))
    }

    /// Returns where a control token's text stands with a marked place in it, as a tokenizer reads: from the left, the
    /// longest first.
    fn spelled(&self, text: &str, starts: &[usize]) -> Vec<Range<usize>> {
        let (mut literals, mut seen) = (Vec::new(), 0);
        while let Some((start, special)) = self.specials.next_in(text, seen) {
            seen = start + special.len();
            if let Some(place) = marked_in(starts, start, seen) {
                seen = self.end(text, place, seen, starts);
                literals.push(start..seen);
            }
        }
        literals
    }

    /// Returns where the token around `place` that ends at `end` stops being somebody's text: where a control token of
    /// the template's own begins, which must not lose its beginning to it.
    fn end(&self, text: &str, place: usize, end: usize, starts: &[usize]) -> usize {
        let own = |from: &usize| {
            let mut found = self.specials.beginning(text.get(*from..).unwrap_or_default());
            found.any(|own| from + own.len() > end && marked_in(starts, *from, from + own.len()).is_none())
        };
        (place + 1..end).find(own).unwrap_or(end)
    }

    /// Chooses the marks; `None` when there is nothing to mark.
    fn mark(&self, input: &mut TemplateInput, quotes: &Quotes) -> Result<Option<Mark>> {
        let mut needed = false;
        let mut used = BTreeSet::new();
        let mut alone = BTreeSet::new();
        let mut count = |text: &str, starts: &[usize]| {
            needed |= !starts.is_empty();
            let marked = starts.iter().filter_map(|start| text.get(*start..)?.chars().next());
            alone.extend(marked.filter(|symbol| self.is_alone(*symbol)));
            used.extend(text.chars().chain(mark::escaped(text)).filter(|symbol| *symbol >= MARKS.0));
        };
        texts::each(input, &mut |voice, text| count(text, &self.starts(voice, text)));
        for (index, message) in input.messages.iter_mut().enumerate() {
            if let Some(quotes) = quotes.of_message(index) {
                let author = quotes::author_of(message);
                quotes::each_text_mut(message, |index, text| {
                    count(text, &self.quoting_starts(author, text, quotes.of_text(index)));
                });
            }
        }
        if !needed {
            return Ok(None);
        }
        let mut free = (MARKS.0..=MARKS.1).rev().filter(|symbol| !used.contains(symbol));
        let behind = free.next();
        let stand_ins: Vec<_> = alone.iter().copied().zip(free).collect();
        match behind.filter(|_| stand_ins.len() == alone.len()) {
            Some(behind) => Ok(Some(Mark::new(behind, stand_ins))),
            None => {
                let message = "the conversation uses every private-use character of plane 16: none is left to mark with";
                Err(Error::new(ErrorKind::Unsupported, message))
            }
        }
    }

    /// Says whether `symbol` is a control token all by itself.
    fn is_alone(&self, symbol: char) -> bool {
        self.specials.is_one(symbol.encode_utf8(&mut [0; 4]))
            || self.disguises.as_ref().is_some_and(|disguises| disguises.is_alone(symbol))
    }

    /// Returns where a control token's text begins that must stay text, where a part of one stands that a template
    /// might complete, and where one comes together when a template rewrites the text; sorted.
    pub(super) fn starts(&self, voice: Voice, text: &str) -> Vec<usize> {
        let mut starts = match voice {
            Voice::Name => self.edges.of_name(text),
            Voice::Model => {
                let of_piece =
                    |(start, piece)| self.edges.of(piece).into_iter().map(move |edge| start + edge);
                self.between_tags(text).into_iter().flat_map(of_piece).collect()
            }
            Voice::Other => self.edges.of(text),
        };
        if self.specials.may_begin_in(text) {
            starts.extend(self.beginnings(voice, text));
            rewrites::each(text, |rewritten, places| {
                let begun = self.beginnings(voice, rewritten).into_iter();
                starts.extend(begun.filter_map(|start| places.get(start)));
            });
        }
        starts.extend(self.disguised(voice, text));
        if voice == Voice::Model {
            let pieces = self.between_tags(text);
            let between = |start: &usize| {
                pieces.iter().any(|(from, piece)| (*from..from + piece.len()).contains(start))
            };
            starts.retain(between);
        }
        starts.sort_unstable();
        starts
    }

    /// Where the same stands once the text is normalized.
    fn disguised(&self, voice: Voice, text: &str) -> Vec<usize> {
        let Some(disguises) = &self.disguises else { return Vec::new() };
        let pieces = if voice == Voice::Model { self.between_tags(text) } else { vec![(0, text)] };
        let of_piece =
            |(from, piece)| disguises.starts(voice, piece).into_iter().map(move |start| from + start);
        pieces.into_iter().flat_map(of_piece).collect()
    }

    /// Cuts a reply at the model's tags, for templates take thoughts out and join what stood around them.
    fn between_tags<'t>(&self, text: &'t str) -> Vec<(usize, &'t str)> {
        let (mut pieces, mut start) = (Vec::new(), 0);
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

    /// Where a control token begins, in any capitals. Of a model's reply its tags are left out, and what begins inside
    /// of one is none.
    fn beginnings(&self, voice: Voice, text: &str) -> Vec<usize> {
        let pieces = if voice == Voice::Model { self.between_tags(text) } else { vec![(0, text)] };
        let places = pieces
            .into_iter()
            .flat_map(|(from, piece)| piece.char_indices().map(move |(start, _)| from + start));
        let begins = |start: &usize| {
            let rest = text.get(*start..).unwrap_or_default();
            self.specials.nearly_beginning(rest).next().is_some()
        };
        places.filter(begins).collect()
    }
}

/// Cuts `text` at `literals`, which are sorted and do not overlap.
fn parts(text: &str, literals: &[Range<usize>]) -> Vec<PromptPart> {
    let (mut parts, mut done) = (Vec::new(), 0);
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

    /// What becomes of a user's `text` when the template does `print` to it.
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
        // What nobody completes is text.
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
    fn an_escape_that_somebody_writes_is_no_mark() {
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
