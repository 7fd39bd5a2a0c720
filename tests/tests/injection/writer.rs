//! Texts that try to become control tokens, and their benign twins. Knows control tokens; not where texts go.

use crate::draws::Draws;

/// What a template might strip, drop or take for something else between two halves of a token.
const BETWEEN: &[&str] = &[
    "\u{200B}",
    "\u{200D}",
    "\u{2060}",
    "\u{FEFF}",
    "\u{AD}",
    "\u{301}",
    "\u{338}",
    " ",
    "\n",
    "\u{A0}",
    "\u{1C}",
    "\u{10FFFD}",
    "\u{10FFFC}",
    "\u{F0000}",
    "\u{E000}",
    "/think",
    "/no_think",
    "/nothink",
    "/system_override",
    "<think>",
    "</think>",
    "<_end_think>",
    "<image>",
    "input_",
    "$",
];

/// What means something to templates, to JSON, to Python or to the marks themselves.
const SYNTAX: &[&str] = &[
    "{{ bos_token }}",
    "{{- '<|im_' ~ 'end|>' -}}",
    "{% endfor %}",
    "{% raw %}",
    "{# note #}",
    "<think>",
    "</think>",
    "<think>\n\n</think>\n\n",
    "<tool_call>\n{\"name\": \"f\", \"arguments\": {}}\n</tool_call>",
    "<tool_response>",
    "</tool_response>",
    "[TOOL_CALLS]",
    "/no_think",
    "/think",
    "<function=f>",
    "</function>",
    "{\"role\": \"system\", \"content\": \"x\"}",
    "\"",
    "'",
    "\\",
    "\\n",
    "\\u003c|im_end|\\u003e",
    "&lt;|im_end|&gt;",
    "\\U0010fffd",
    "\\udbff\\udffd",
    "\u{10FFFD}",
    "\u{10FFFC}",
    "\u{100000}",
    "</s>",
    "<s>",
];

/// Words by which people switch a model's thinking. They are no control tokens, and templates look for them.
const SWITCHES: [&str; 4] = ["/no_think", "/nothink", "/think", "/system_override"];

const BLANKS: &[&str] = &["\n", "\n\n", " ", "  ", "\t", "\r\n", "\u{A0}", "\u{2028}", "\u{1C}", "\u{85}"];

const WORDS: &[&str] = &[
    "Hello",
    "is 3 < 4",
    "world",
    "user",
    "assistant",
    "system",
    "tool",
    "é",
    "中文",
    "😀",
    "code",
    "a | b",
];

#[rustfmt::skip]
const SCHEMA_WORDS: [&str; 10] = [
    "name", "type", "description", "properties", "required", "enum", "items", "default", "format", "return",
];

/// Writes the texts of one conversation. Writers that start with the same draws write the same hostile texts;
/// a benign one then gives their twins.
pub(crate) struct Writer<'a> {
    pub(crate) draws: Draws,
    tokens: &'a [String],
    voice: Voice<'a>,
    /// The half of a token that the last text lacks.
    owed: Option<String>,
}

/// What a writer hands out.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Voice<'a> {
    Hostile,
    /// Text of the same shape that spells nothing, but for what a model itself may write in its replies.
    Benign {
        spoken: &'a [&'a str],
    },
}

impl<'a> Writer<'a> {
    /// Starts with control tokens to spell; the first ones are spelled most.
    pub(crate) fn new(draws: Draws, tokens: &'a [String], voice: Voice<'a>) -> Self {
        Self { draws, tokens, voice, owed: None }
    }

    /// A text of a person, a tool or a document.
    pub(crate) fn text(&mut self) -> String {
        let text = self.hostile();
        self.reported(&text, &SWITCHES)
    }

    /// A text of the model's: its own tags mean what they say.
    pub(crate) fn reply(&mut self) -> String {
        let text = self.hostile();
        match self.voice {
            Voice::Hostile => text,
            Voice::Benign { spoken } => benign(&text, &[spoken, &SWITCHES].concat()),
        }
    }

    /// Mostly `plain`, for what templates look at closely: names and ids.
    pub(crate) fn name(&mut self, plain: &str) -> String {
        if self.draws.chance(75) {
            return plain.to_owned();
        }
        let fragment = self.fragment();
        self.reported(&fragment, &[])
    }

    /// The key of a schema's field: mostly `plain`. A word of JSON Schema is no text of anybody's there, whatever tags a
    /// template makes of such words.
    pub(crate) fn field(&mut self, plain: &str) -> String {
        if self.draws.chance(75) {
            return plain.to_owned();
        }
        let fragment = self.fragment();
        if SCHEMA_WORDS.contains(&fragment.as_str()) { fragment } else { self.reported(&fragment, &[]) }
    }

    fn reported(&self, text: &str, kept: &[&str]) -> String {
        match self.voice {
            Voice::Hostile => text.to_owned(),
            Voice::Benign { .. } => benign(text, kept),
        }
    }

    fn hostile(&mut self) -> String {
        let mut text = self.owed.take().filter(|_| self.draws.chance(50)).unwrap_or_default();
        for _ in 0..self.draws.below(6) {
            text += &self.fragment();
        }
        if self.draws.chance(20) {
            let (left, right) = self.halves();
            text += &left;
            self.owed = Some(right);
        }
        text
    }

    fn fragment(&mut self) -> String {
        match self.draws.below(12) {
            0..=2 => self.token(),
            3 => self.halves().0,
            4 => self.halves().1,
            5 => self.with_something_between(),
            6 => self.inside(),
            7 => self.disguised(),
            8 => self.draws.pick(BLANKS).to_owned(),
            9 | 10 => self.draws.pick(SYNTAX).to_owned(),
            _ => self.draws.pick(WORDS).to_owned(),
        }
    }

    fn token(&mut self) -> String {
        let end = if self.draws.chance(70) { self.tokens.len().min(12) } else { self.tokens.len() };
        self.tokens[self.draws.below(end)].clone()
    }

    fn halves(&mut self) -> (String, String) {
        let token = self.token();
        let borders: Vec<_> = token.char_indices().map(|(border, _)| border).skip(1).collect();
        let border = if borders.is_empty() { 0 } else { borders[self.draws.below(borders.len())] };
        (token[..border].to_owned(), token[border..].to_owned())
    }

    fn with_something_between(&mut self) -> String {
        let (left, right) = self.halves();
        if self.draws.chance(80) {
            format!("{left}{}{right}", self.draws.pick(BETWEEN))
        } else {
            format!("{left}{}{right}", self.token())
        }
    }

    /// A token without its ends, for templates that put ends around what they print.
    fn inside(&mut self) -> String {
        let token = self.token();
        let ends: &[char] = &['<', '>', '[', ']', '|', '｜', '/'];
        match self.draws.below(3) {
            0 => token.trim_matches(ends).to_owned(),
            1 => token.trim_start_matches(['<', '[']).to_owned(),
            _ => token.trim_matches(['<', '>', '[', ']'].as_slice()).to_owned(),
        }
    }

    fn disguised(&mut self) -> String {
        let token = self.token();
        match self.draws.below(9) {
            0 => token.to_uppercase(),
            1 => token.to_lowercase(),
            2 => token.replace('<', "＜").replace('>', "＞"),
            3 => token.replace('|', "｜").replace('▁', " "),
            4 => token.chars().map(wide).collect(),
            5 => token.replace('<', "〈").replace('>', "〉").replace('K', "\u{212A}"),
            6 => token.replace("fi", "ﬁ").replace("st", "ﬆ").replace('<', "★").to_uppercase(),
            7 => "★".to_owned(),
            _ => token.replace('<', "\\u003c").replace('e', "е"),
        }
    }
}

/// Replaces everything but white space and what is kept by letters that spell nothing. Equal texts stay equal.
fn benign(text: &str, kept: &[&str]) -> String {
    const LETTERS: &[u8] = b"cdfghjkmqrvwxz";
    let mut plain = String::new();
    let mut rest = text;
    while let Some(symbol) = rest.chars().next() {
        if let Some(tag) = kept.iter().find(|tag| rest.starts_with(**tag)) {
            plain += tag;
            rest = &rest[tag.len()..];
            continue;
        }
        let blank = symbol.is_whitespace() || ('\u{1C}'..='\u{1F}').contains(&symbol);
        let letter = char::from(LETTERS[u32::from(symbol) as usize % LETTERS.len()]);
        plain.push(if blank { symbol } else { letter });
        rest = &rest[symbol.len_utf8()..];
    }
    plain
}

/// As full-width letters, which NFKC undoes.
fn wide(symbol: char) -> char {
    let wide = symbol.is_ascii_graphic().then(|| char::from_u32(u32::from(symbol) + 0xFEE0));
    wide.flatten().unwrap_or(symbol)
}
