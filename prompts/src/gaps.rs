//! Prompts with gaps that the model fills, one after the other.

use alloquy_core::prompt_library::Values;
use alloquy_core::{Conversation, Error, ErrorKind, Message, Result, Role, SamplingOptions, TurnRequest};
use alloquy_templates::{NoReferences, PromptSyntax, PromptText};

/// A text with gaps that the model fills in order. Each gap is a named output, which the text after it may read as a value.
///
/// A gap is written `{% gen NAME %}`, with `max_tokens=N` and `stop="TEXT"` (also several times) after the name if its length is
/// limited. The text between two gaps is a user message and what fills a gap is the reply to it. With
/// [`CompletionTemplate`](alloquy_templates::CompletionTemplate) the prompt is the text itself, which the model continues; with a chat template
/// it is a conversation.
///
/// ```
/// use alloquy_core::Conversation;
/// use alloquy_core::prompt_library::Values;
/// use alloquy_prompts::GapPrompt;
/// use alloquy_testing::ScriptedModel;
///
/// # pollster::block_on(async {
/// let prompt = GapPrompt::new("A play about {{topic}}:\n{% gen plot %}\nReview of “{{plot}}”: {% gen review max_tokens=50 %}")?;
/// let model = ScriptedModel::new([("tea:\n<end><assistant>", "A storm"), ("“A storm”: <end><assistant>", "Good")]);
/// let conversation = Conversation::new(model);
/// let filled = prompt.fill(&conversation, &Values::new().set("topic", "tea")).await?;
/// assert_eq!(filled.text, "A play about tea:\nA storm\nReview of “A storm”: Good");
/// assert_eq!(filled.outputs[1], ("review".to_owned(), "Good".to_owned()));
/// # Ok::<(), alloquy_core::Error>(())
/// # })?;
/// # Ok::<(), alloquy_core::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct GapPrompt {
    pieces: Vec<Piece>,
    /// The text after the last gap.
    end: Option<PromptText>,
}

/// A text, and the gap after it.
#[derive(Clone, Debug)]
struct Piece {
    text: PromptText,
    gap: Gap,
}

/// A gap.
#[derive(Clone, Debug, Default)]
struct Gap {
    name: String,
    sampling: SamplingOptions,
}

/// A text whose gaps the model has filled.
///
/// [`GapPrompt`] has an example.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct FilledGaps {
    /// The whole text.
    pub text: String,
    /// The name of each gap, and what fills it, in order.
    pub outputs: Vec<(String, String)>,
}

impl GapPrompt {
    /// Reads a text with gaps. A statement or a section must end in the text in which it begins.
    ///
    /// # Errors
    /// [`ErrorKind::Invalid`] for a text without a gap, two gaps of one name, an option that is unknown or no number, and as
    /// [`PromptText::new`].
    pub fn new(source: &str) -> Result<Self> {
        let mut pieces: Vec<Piece> = Vec::new();
        let mut rest = source;
        while let Some((before, statement, after)) = next_gap(rest)? {
            let gap = gap(statement)?;
            if pieces.iter().any(|piece| piece.gap.name == gap.name) {
                return Err(invalid(format!("two gaps have the name {:?}; rename one", gap.name)));
            }
            pieces.push(Piece { text: PromptText::new(before, PromptSyntax::Mixed)?, gap });
            rest = after;
        }
        if pieces.is_empty() {
            return Err(invalid("the text has no gap; write one as {% gen NAME %}".to_owned()));
        }
        let end = if rest.is_empty() { None } else { Some(PromptText::new(rest, PromptSyntax::Mixed)?) };
        Ok(Self { pieces, end })
    }

    /// Fills the gaps with replies, at the head of a conversation. Texts between gaps read `values`, and the gaps before them.
    ///
    /// # Errors
    /// Those of the texts and of the turns. What was filled before stays in the conversation.
    pub async fn fill(&self, conversation: &Conversation, values: &Values) -> Result<FilledGaps> {
        let mut filled = FilledGaps { text: String::new(), outputs: Vec::new() };
        for piece in &self.pieces {
            let message = message(&piece.text, conversation, values).await?;
            filled.text.push_str(&message.text());
            let request = TurnRequest::from(message)
                .sampling(piece.gap.sampling.clone())
                .output_name(piece.gap.name.clone());
            let reply = conversation.send(request).await?.text();
            filled.text.push_str(&reply);
            filled.outputs.push((piece.gap.name.clone(), reply));
        }
        if let Some(end) = &self.end {
            let message = message(end, conversation, values).await?;
            filled.text.push_str(&message.text());
            conversation.add(TurnRequest::from(message)).await?;
        }
        Ok(filled)
    }
}

/// Renders a text with the values and the outputs so far.
async fn message(text: &PromptText, conversation: &Conversation, values: &Values) -> Result<Message> {
    let values = values.clone().or_outputs(&conversation.history().await?);
    Ok(text.render(&values, &NoReferences)?.message(Role::User))
}

fn invalid(message: String) -> Error {
    Error::new(ErrorKind::Invalid, message)
}

/// Finds the next gap: the text before it, its statement, and the text after it.
fn next_gap(text: &str) -> Result<Option<(&str, &str, &str)>> {
    let mut from = 0;
    while let Some(found) = text.get(from..).and_then(|rest| rest.find("{%")) {
        let start = from + found;
        let inside = text.get(start + 2..).unwrap_or_default();
        let statement = inside.trim_start();
        let is_gap = statement.strip_prefix("gen").is_some_and(|rest| rest.starts_with(char::is_whitespace));
        if is_gap {
            let before = text.get(..start).unwrap_or_default();
            let Some((statement, after)) = inside.split_once("%}") else {
                return Err(invalid(format!("a gap has no end after {before:?}; close it with %}}")));
            };
            return Ok(Some((before, statement.trim(), after)));
        }
        from = start + 2;
    }
    Ok(None)
}

/// Reads the statement of a gap, such as `gen plot max_tokens=50 stop="."`.
fn gap(statement: &str) -> Result<Gap> {
    let mut words = words(statement)?.into_iter().skip(1);
    let Some(name) = words.next().filter(|name| !name.contains('=')) else {
        return Err(invalid(format!("{statement:?} names no output, expected gen NAME")));
    };
    let mut gap = Gap { name, ..Gap::default() };
    for word in words {
        match word.split_once('=') {
            Some(("max_tokens", number)) => match number.parse() {
                Ok(number) => gap.sampling.max_tokens = Some(number),
                Err(_) => {
                    return Err(invalid(format!(
                        "max_tokens of gap {:?} is {number:?}, expected a number",
                        gap.name
                    )));
                }
            },
            Some(("stop", text)) => gap.sampling.stop.push(text.to_owned()),
            _ => {
                let message = format!(
                    "{word:?} is no option of gap {:?}, expected max_tokens=N or stop=\"TEXT\"",
                    gap.name
                );
                return Err(invalid(message));
            }
        }
    }
    Ok(gap)
}

/// Splits a statement at white space outside of quotes. `\\n`, `\\"` and `\\\\` mean what they mean in JSON.
fn words(statement: &str) -> Result<Vec<String>> {
    let mut words = Vec::new();
    let mut word = String::new();
    let mut is_quoted = false;
    let mut letters = statement.chars();
    while let Some(letter) = letters.next() {
        match letter {
            '"' => is_quoted = !is_quoted,
            '\\' if is_quoted => match letters.next() {
                Some('n') => word.push('\n'),
                Some(other) => word.push(other),
                None => break,
            },
            _ if letter.is_whitespace() && !is_quoted => {
                if !word.is_empty() {
                    words.push(std::mem::take(&mut word));
                }
            }
            _ => word.push(letter),
        }
    }
    if is_quoted {
        return Err(invalid(format!("{statement:?} has a quote without an end; close it")));
    }
    if !word.is_empty() {
        words.push(word);
    }
    Ok(words)
}
