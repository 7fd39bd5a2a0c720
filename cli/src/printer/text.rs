//! Prints answers on standard output as they are generated; thinking, other channels, tools and notes on standard error.

use std::io::{self, Write};

use alloquy::core::processor::Channel;
use alloquy::core::report::{CacheReport, FinishReason, ReplyTiming};
use alloquy::core::store::HeadMove;
use alloquy::core::turn::TurnEnd;
use alloquy::core::{Delta, Error, Reply, TurnEvent, TurnReply};
use serde_json::Value;

use super::Printer;
use super::removed::{facts_of, removed};
use super::tokens::TokenTexts;
use super::warnings::warning;
use crate::notes::{Loudness, Notes};
use crate::preview::shortened;
use crate::screen::{Screen, Style};
use crate::visible::{bounded, on_one_line};

/// How many characters of a tool's answer are shown.
const WIDTH: usize = 100;

/// What follows the last character of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LineEnd {
    /// A line break, unless the answer ends with one.
    Always,
    /// Nothing: the output is the answer, byte for byte.
    Never,
}

/// Writes answers to `out` and everything else to `err`.
#[derive(Debug)]
pub(crate) struct Text<O, E> {
    out: Screen<O>,
    err: Screen<E>,
    notes: Notes,
    end: LineEnd,
    column: Column,
    /// The channel of the last line beside the answer.
    channel: String,
    tokens: TokenTexts,
}

/// Where the cursor is, as far as this printer moved it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Column {
    /// At the start of a line.
    Start,
    /// In a line of the answer.
    Answer,
    /// In a line beside the answer: a thinking block, or a text of another channel.
    Aside,
}

impl<O: Write, E: Write> Text<O, E> {
    pub(crate) fn new(out: Screen<O>, err: Screen<E>, notes: Notes, end: LineEnd) -> Self {
        let tokens = TokenTexts::default();
        Self { out, err, notes, end, column: Column::Start, channel: String::new(), tokens }
    }

    /// Sets the model whose tokens are shown as texts.
    pub(crate) fn tokens(self, tokens: TokenTexts) -> Self {
        Self { tokens, ..self }
    }

    fn answer(&mut self, text: &str) -> io::Result<()> {
        self.end_aside();
        self.out.write_all(text.as_bytes())?;
        self.column = column(text, Column::Answer, self.column);
        self.out.flush()
    }

    /// Prints a thinking block, or a text of another channel, after the channel's name.
    fn say_aside(&mut self, channel: &str, text: &str) {
        if self.notes.loudness() == Loudness::Quiet {
            return;
        }
        if self.channel != channel {
            self.end_aside();
        }
        let style = self.notes.style();
        let continues = self.column == Column::Aside;
        let opening = if continues { String::new() } else { format!("({}) ", on_one_line(channel)) };
        // Standard error may be closed, which is not worth an error, here and below.
        let _ = self.err.styled(style, &format!("{opening}{text}"));
        let _ = self.err.flush();
        self.column = Column::Aside;
        channel.clone_into(&mut self.channel);
    }

    /// Ends the text beside the answer. Without colors, its end is marked as its start is.
    fn end_aside(&mut self) {
        if self.column != Column::Aside {
            return;
        }
        let _ = writeln!(self.err);
        if self.notes.style() == Style::Plain {
            let _ = writeln!(self.err, "(end of {})", on_one_line(&self.channel));
        }
        self.column = Column::Start;
    }

    fn note(&mut self, note: &str) {
        if self.notes.loudness() > Loudness::Quiet {
            let style = self.notes.style();
            let _ = self.err.styled(style, &bounded(note)).and_then(|()| self.err.write_all(b"\n"));
        }
    }

    fn end_line(&mut self) -> io::Result<()> {
        self.end_aside();
        if self.column == Column::Answer && self.end == LineEnd::Always {
            self.out.write_all(b"\n")?;
            self.column = Column::Start;
        }
        self.out.flush()
    }

    fn aside(&mut self, note: &str) -> io::Result<()> {
        self.end_line()?;
        self.note(note);
        Ok(())
    }

    /// Prints what is to be said of an answer after it, with what guards removed.
    fn remark(&mut self, reply: &Reply, removed: &[String]) -> io::Result<()> {
        self.end_line()?;
        for token in &reply.logprobs {
            let line = self.tokens.line(token);
            self.note(&line);
        }
        for note in remarks(reply).iter().chain(removed) {
            self.note(note);
        }
        if self.notes.loudness() >= Loudness::Verbose {
            self.note(&cost(reply));
            if let Some(timing) = &reply.timing {
                self.note(&speed(timing));
            }
        }
        Ok(())
    }
}

fn column(text: &str, within: Column, before: Column) -> Column {
    match text.chars().next_back() {
        None => before,
        Some('\n') => Column::Start,
        Some(_) => within,
    }
}

impl<O: Write, E: Write> Printer for Text<O, E> {
    fn delta(&mut self, delta: &Delta) -> io::Result<()> {
        match delta {
            Delta::Text(text) => self.answer(text),
            Delta::Thinking(text) => {
                self.say_aside(Channel::THINKING, text);
                Ok(())
            }
            Delta::Channel(piece) => {
                self.say_aside(&piece.name, &piece.text);
                Ok(())
            }
            // The whole call follows.
            Delta::Arguments(_) => Ok(()),
            Delta::ToolCall(call) => {
                self.aside(&format!("calls {}({})", call.name, shortened(&call.arguments.to_string(), WIDTH)))
            }
            Delta::Malformed(malformed) => {
                let raw = shortened(&malformed.raw, WIDTH);
                self.aside(&format!("could not read a part of the reply ({}): {raw}", malformed.reason))
            }
            other => self.aside(&format!("{other:?}")),
        }
    }

    fn event(&mut self, event: &TurnEvent) -> io::Result<()> {
        match event {
            TurnEvent::Delta(delta) => self.delta(delta),
            TurnEvent::ToolResult(result) => {
                self.aside(&format!("{} answers {}", result.name, shortened(&result.text(), WIDTH)))
            }
            _ => Ok(()),
        }
    }

    fn reply(&mut self, reply: &Reply) -> io::Result<()> {
        self.remark(reply, &removed(&[&reply.facts]))
    }

    fn turn(&mut self, turn: &TurnReply) -> io::Result<()> {
        self.remark(&turn.reply, &removed(&facts_of(turn)))?;
        if let HeadMove::Branched { .. } = turn.head {
            self.note(
                "another writer continued this conversation; this answer is kept as a branch: see /tree",
            );
        }
        for call in &turn.pending {
            self.note(&pending(turn.end, &call.name));
        }
        Ok(())
    }

    fn broken(&mut self) -> io::Result<()> {
        self.end_line()
    }

    fn error(&mut self, _error: &Error) -> io::Result<()> {
        Ok(())
    }

    fn show(&mut self, _name: &str, text: &str, _value: Value) -> io::Result<()> {
        self.end_line()?;
        self.out.write_all(text.as_bytes())?;
        self.out.flush()
    }
}

/// Explains why a call has no answer.
fn pending(end: TurnEnd, name: &str) -> String {
    let name = on_one_line(name);
    match end {
        TurnEnd::ToolLimit => format!("{name} did not run: the turn has reached its --tool-rounds"),
        _ => format!("nothing here answers the call of {name:?}"),
    }
}

/// Describes what differs from the request: how the answer ended, and its warnings.
fn remarks(reply: &Reply) -> Vec<String> {
    let finish = match reply.finish {
        FinishReason::Length => Some("(the answer ends at --max-tokens)".to_owned()),
        FinishReason::ContextFull => Some("(the answer ends because the model's context is full)".to_owned()),
        FinishReason::Cancelled => Some("(interrupted; the answer so far is kept)".to_owned()),
        FinishReason::Error => Some("(the model failed midway; the answer so far is kept)".to_owned()),
        _ => None,
    };
    finish.into_iter().chain(reply.warnings.iter().map(warning)).collect()
}

/// Describes the tokens of an answer.
fn cost(reply: &Reply) -> String {
    let cache = match reply.cache {
        Some(report) => format!("{}, ", cached(report, reply.usage.cached)),
        None if reply.usage.prompt > 0 => {
            format!("prompt {}: {} reused by the server, ", reply.usage.prompt, reply.usage.cached)
        }
        None => String::new(),
    };
    let seed = reply.seed.map_or_else(String::new, |seed| format!(", seed {seed}"));
    let drafts = reply.speculation.map_or_else(String::new, |drafts| {
        format!(", {} of {} draft tokens accepted", drafts.kept, drafts.guessed)
    });
    format!("({cache}reply {} tokens{drafts}{seed})", reply.usage.generated)
}

/// Describes the time that an answer took.
fn speed(timing: &ReplyTiming) -> String {
    let mut parts = Vec::new();
    if let Some(first) = timing.first_token {
        parts.push(format!("first token after {:.2} s", first.as_secs_f64()));
    }
    if let Some(rate) = timing.prefill_rate() {
        parts.push(format!("prefill {} tokens at {rate:.1}/s", timing.prefill_tokens));
    }
    if let Some(rate) = timing.decode_rate() {
        parts.push(format!("decode {} tokens at {rate:.1}/s", timing.decode_tokens));
    }
    format!("({})", parts.join(", "))
}

/// Describes what was cached. A server may count it after the last token, when the report was made already.
fn cached(report: CacheReport, counted: usize) -> String {
    let CacheReport { prompt, cached, .. } = report;
    let cached = cached.max(counted).min(prompt);
    let computed = prompt - cached;
    let reason = report.miss.map_or_else(String::new, |reason| format!(" ({reason})"));
    format!("prompt {prompt}: {cached} reused + {computed} computed{reason}")
}

#[cfg(test)]
mod tests {
    use alloquy::core::Message;
    use alloquy::core::message::ChannelText;
    use alloquy::core::report::Warning;

    use super::*;
    use crate::notes::Output;
    use crate::visible::Rule;

    fn printed(output: &Output, end: LineEnd, deltas: &[Delta], reply: &Reply) -> (String, String) {
        let mut out = Vec::new();
        let mut err = Vec::new();
        let answers = Screen::new(&mut out, Rule::Prose);
        let rest = Screen::new(&mut err, Rule::Line);
        let mut text = Text::new(answers, rest, Notes::new(output), end);
        deltas.iter().for_each(|delta| text.delta(delta).unwrap());
        text.reply(reply).unwrap();
        (String::from_utf8(out).unwrap(), String::from_utf8(err).unwrap())
    }

    fn deltas() -> [Delta; 3] {
        [Delta::Thinking("Hm".into()), Delta::Thinking(".".into()), Delta::Text("Yes".into())]
    }

    #[test]
    fn the_answer_alone_is_on_standard_output() {
        let reply = Reply::new(Message::assistant("Yes"));
        let (out, err) = printed(&Output::default(), LineEnd::Always, &deltas(), &reply);
        assert_eq!((out.as_str(), err.as_str()), ("Yes\n", "(thinking) Hm.\n(end of thinking)\n"));
        let (out, _) = printed(&Output::default(), LineEnd::Never, &deltas(), &reply);
        assert_eq!(out, "Yes");
    }

    #[test]
    fn an_answer_that_breaks_off_ends_its_line() {
        let mut out = Vec::new();
        let mut err = Vec::new();
        let notes = Notes::new(&Output::default());
        let out_screen = Screen::new(&mut out, Rule::Prose);
        let err_screen = Screen::new(&mut err, Rule::Line);
        let mut text = Text::new(out_screen, err_screen, notes, LineEnd::Always);
        text.delta(&Delta::Text("Half an ans".into())).unwrap();
        // What is said of the error begins a line of its own.
        text.broken().unwrap();
        assert_eq!(out, b"Half an ans\n");
    }

    #[test]
    fn channels_are_told_apart_beside_the_answer() {
        let said = |name: &str, text: &str| Delta::Channel(ChannelText::new(name, text));
        let deltas = [
            Delta::Thinking("Hm".into()),
            said("joke", "A crab"),
            said("joke", " walks."),
            said("plan", "None."),
            Delta::Text("Yes".into()),
        ];
        let reply = Reply::new(Message::assistant("Yes"));
        let (out, err) = printed(&Output::default(), LineEnd::Always, &deltas, &reply);
        assert_eq!(out, "Yes\n");
        assert_eq!(
            err,
            "(thinking) Hm\n(end of thinking)\n(joke) A crab walks.\n(end of joke)\n(plan) None.\n(end of plan)\n"
        );
    }

    #[test]
    fn quiet_is_the_answer_and_nothing_else() {
        let mut reply = Reply::new(Message::assistant("Yes"));
        reply.finish = FinishReason::Length;
        let quiet = Output { quiet: true, ..Output::default() };
        let (out, err) = printed(&quiet, LineEnd::Always, &deltas(), &reply);
        assert_eq!((out.as_str(), err.as_str()), ("Yes\n", ""));
    }

    #[test]
    fn a_capped_reply_says_so_and_a_verbose_one_what_it_took() {
        let mut reply = Reply::new(Message::assistant("Yes"));
        reply.finish = FinishReason::ContextFull;
        reply.warnings = vec![Warning::MaxTokensCapped { asked: 900, room: 12 }];
        reply.cache = Some(CacheReport::new(30, 20));
        reply.seed = Some(7);
        let verbose = Output { verbose: 1, ..Output::default() };
        let (_, err) = printed(&verbose, LineEnd::Always, &[], &reply);
        insta::assert_snapshot!(err);
    }
}
