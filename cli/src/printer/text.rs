//! Answers on standard output as they are written; thoughts, other channels, tools and everything else on standard error.

use std::io::{self, Write};

use alloquy::core::media::Digest;
use alloquy::core::processor::Channel;
use alloquy::core::report::{CacheReport, Degradation, FinishReason, ReplyTiming};
use alloquy::core::store::HeadMove;
use alloquy::core::turn::TurnEnd;
use alloquy::core::{Delta, Error, Reply, TurnEvent, TurnReply};
use serde_json::Value;

use super::Printer;
use crate::notes::{Loudness, Notes};
use crate::preview::shortened;
use crate::screen::Screen;
use crate::visible::{bounded, on_one_line};

/// How many characters of a tool's answer are shown.
const WIDTH: usize = 100;

/// How many characters of a digest are shown.
const DIGEST: usize = 13;

/// What stands behind the last character of an answer.
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
    /// The channel that the last line beside the answer is of.
    channel: String,
}

/// Where the cursor is, as far as this printer moved it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Column {
    /// At the start of a line.
    Start,
    /// In a line of the answer.
    Answer,
    /// In a line beside the answer: a thought, or what is said in another channel.
    Aside,
}

impl<O: Write, E: Write> Text<O, E> {
    pub(crate) fn new(out: Screen<O>, err: Screen<E>, notes: Notes, end: LineEnd) -> Self {
        Self { out, err, notes, end, column: Column::Start, channel: String::new() }
    }

    fn answer(&mut self, text: &str) -> io::Result<()> {
        self.end_aside();
        self.out.write_all(text.as_bytes())?;
        self.column = column(text, Column::Answer, self.column);
        self.out.flush()
    }

    /// Shows a thought, or what is said in another channel, behind the channel's name.
    fn say_aside(&mut self, channel: &str, text: &str) {
        if self.notes.loudness() == Loudness::Quiet {
            return;
        }
        if self.channel != channel {
            self.end_aside();
        }
        let style = self.notes.style();
        let goes_on = self.column == Column::Aside;
        let opening = if goes_on { String::new() } else { format!("({}) ", on_one_line(channel)) };
        // Nobody may be listening there, which is not worth an error, here and below.
        let _ = self.err.styled(style, &format!("{opening}{text}"));
        let _ = self.err.flush();
        self.column = Column::Aside;
        channel.clone_into(&mut self.channel);
    }

    fn end_aside(&mut self) {
        if self.column == Column::Aside {
            let _ = writeln!(self.err);
            self.column = Column::Start;
        }
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
            Delta::Channel(said) => {
                self.say_aside(&said.name, &said.text);
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
        self.end_line()?;
        for note in remarks(reply) {
            self.note(&note);
        }
        if self.notes.loudness() >= Loudness::Verbose {
            self.note(&cost(reply));
            reply.timing.iter().for_each(|timing| self.note(&speed(timing)));
        }
        Ok(())
    }

    fn turn(&mut self, turn: &TurnReply) -> io::Result<()> {
        self.reply(&turn.reply)?;
        if let HeadMove::Branched { .. } = turn.head {
            self.note(
                "another writer moved this conversation on; this answer is kept as a branch: see /tree",
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

/// Why a call has no answer.
fn pending(end: TurnEnd, name: &str) -> String {
    let name = on_one_line(name);
    match end {
        TurnEnd::ToolRounds => format!("{name} did not run: the turn has reached its --tool-rounds"),
        _ => format!("nobody here answers the call of {name:?}"),
    }
}

/// What was not as asked.
fn remarks(reply: &Reply) -> Vec<String> {
    let finish = match reply.finish {
        FinishReason::Length => Some("(the answer ends at --max-tokens)".to_owned()),
        FinishReason::ContextFull => Some("(the answer ends because the model's context is full)".to_owned()),
        FinishReason::Cancelled => Some("(stopped; what was said is kept)".to_owned()),
        FinishReason::Error => Some("(the model failed midway; what was said is kept)".to_owned()),
        _ => None,
    };
    finish.into_iter().chain(reply.degradations.iter().map(degradation)).collect()
}

/// What was not done as asked, in words.
#[allow(clippy::too_many_lines)] // an arm a degradation
pub(crate) fn degradation(degradation: &Degradation) -> String {
    match degradation {
        Degradation::MaxTokensCapped { asked, room } => {
            format!("(--max-tokens {asked} is more than the context has room for: {room})")
        }
        Degradation::HistoryShifted { dropped, tokens } => {
            format!("(the model no longer sees {dropped} early messages of {tokens} tokens: they do not fit)")
        }
        Degradation::HistorySummarised { dropped, tokens, summary: 0, .. } => {
            format!(
                "(the model no longer sees {dropped} early messages of {tokens} tokens, nor a summary of them)"
            )
        }
        Degradation::HistorySummarised { dropped, tokens, summary, left_out, .. } => {
            let rest = match left_out {
                0 => String::new(),
                left_out => format!(", which leaves out {left_out} of them"),
            };
            format!(
                "(a summary of {summary} tokens stands for {dropped} early messages of {tokens}{rest}: they do not fit)"
            )
        }
        Degradation::SummaryCut => "(the summary of early messages ends before it is complete)".to_owned(),
        Degradation::BrokenText => "(the answer ends within a character, shown as \u{FFFD})".to_owned(),
        Degradation::ThinkingCut { tokens } => {
            format!("(the model was made to answer after {tokens} tokens of thinking)")
        }
        Degradation::ToolsShutOut { tools } => {
            format!("(none of the {tools} tools can be called in this form: --tool-choice auto allows both)")
        }
        Degradation::GrammarViolated { tokens } => format!(
            "(the answer does not match its grammar from its token {} on: the server did not hold it to that)",
            tokens + 1
        ),
        Degradation::OptionIgnored { name } => format!("(the option {name} has no effect on this model)"),
        Degradation::ConstraintCut => "(the answer ends before its form is complete)".to_owned(),
        Degradation::ControlTokenLetThrough { token, source, times } => {
            let source = source.as_str();
            format!("(a control token was let through: {token:?} from {source}, times {times})")
        }
        Degradation::RoleMarkerInText { marker, source, times, .. } => {
            let source = source.as_str();
            format!(
                "(a text from {source} has the template's own role marker {marker:?}, times {times}: the model may take what follows for another message)"
            )
        }
        Degradation::InstructionsMerged { messages } => {
            format!(
                "(the template has no place for {messages} system messages: the first question begins with them)"
            )
        }
        Degradation::LeftOut { what } => format!("(the template leaves out {what})"),
        Degradation::ThinkingSwitchIgnored => {
            "(the template has no switch for thinking: --thinking changes nothing)".to_owned()
        }
        Degradation::ThinkingLeftOut { messages } => {
            format!("(the template leaves out thoughts that were to be kept, of {messages} earlier answers)")
        }
        Degradation::TemplateChanged { before, now } => {
            let [before, now] = [before, now].map(|digest| shortened(&digest.to_string(), DIGEST));
            format!("(another template than for the answer before: {now}, it was {before})")
        }
        Degradation::ProviderReplaced { asked, used, reason } => {
            format!("({used} computes instead of {asked}: {reason})")
        }
        other => of_media(other).unwrap_or_else(|| format!("({other:?})")),
    }
}

/// What was not done as media would have it.
fn of_media(degradation: &Degradation) -> Option<String> {
    let called = |media: &Digest| shortened(&media.to_string(), DIGEST);
    Some(match degradation {
        Degradation::PixelsCapped { media, wanted, taken } => {
            let media = called(media);
            format!(
                "(the picture {media} is made smaller, to {taken} pixels and not {wanted}: --pixel-cap decides)"
            )
        }
        Degradation::FramesSampled { media, frames, taken } => {
            format!("(the model sees {taken} of the {frames} frames of the film {})", called(media))
        }
        Degradation::SoundPadded { media, milliseconds, padded } => {
            let media = called(media);
            format!("(the sound {media} of {milliseconds} ms has silence behind it, up to {padded} ms)")
        }
        Degradation::SoundCut { media, missing, partial } => {
            let media = called(media);
            format!(
                "(the audio {media} is shorter than its header says: {missing} bytes are missing, {partial} of a last frame \
                 are left out)"
            )
        }
        Degradation::SoundChunked { media, chunks } => {
            format!("(the model hears the sound {} in {chunks} pieces)", called(media))
        }
        _ => return None,
    })
}

/// What the answer took.
fn cost(reply: &Reply) -> String {
    let cache = reply.cache.map_or_else(String::new, |report| format!("{}, ", cached(report)));
    let seed = reply.seed.map_or_else(String::new, |seed| format!(", seed {seed}"));
    format!("({cache}reply {} tokens{seed})", reply.usage.generated)
}

/// How long the answer took.
fn speed(timing: &ReplyTiming) -> String {
    let first = timing.first_token.map(|first| format!("first token after {:.2} s", first.as_secs_f64()));
    let rate = |what: &str, tokens: usize, rate: Option<f64>| {
        rate.map(|rate| format!("{what} {tokens} tokens at {rate:.1}/s"))
    };
    let prefill = rate("prefill", timing.prefill_tokens, timing.prefill_rate());
    let decode = rate("decode", timing.decode_tokens, timing.decode_rate());
    format!("({})", first.into_iter().chain(prefill).chain(decode).collect::<Vec<_>>().join(", "))
}

fn cached(report: CacheReport) -> String {
    let CacheReport { prompt, reused, forwarded, .. } = report;
    let reason = report.miss.map_or_else(String::new, |reason| format!(" ({reason})"));
    format!("prompt {prompt}: {reused} reused + {forwarded} forwarded{reason}")
}

#[cfg(test)]
mod tests {
    use alloquy::core::Message;
    use alloquy::core::message::ChannelText;

    use super::*;
    use crate::notes::Output;
    use crate::visible::Rule;

    fn printed(output: &Output, end: LineEnd, deltas: &[Delta], reply: &Reply) -> (String, String) {
        let (mut out, mut err) = (Vec::new(), Vec::new());
        let (answers, rest) = (Screen::new(&mut out, Rule::Prose), Screen::new(&mut err, Rule::Line));
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
        assert_eq!((out.as_str(), err.as_str()), ("Yes\n", "(thinking) Hm.\n"));
        let (out, _) = printed(&Output::default(), LineEnd::Never, &deltas(), &reply);
        assert_eq!(out, "Yes");
    }

    #[test]
    fn an_answer_that_breaks_off_ends_its_line() {
        let (mut out, mut err) = (Vec::new(), Vec::new());
        let notes = Notes::new(&Output::default());
        let (out_screen, err_screen) =
            (Screen::new(&mut out, Rule::Prose), Screen::new(&mut err, Rule::Line));
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
        assert_eq!(err, "(thinking) Hm\n(joke) A crab walks.\n(plan) None.\n");
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
        reply.degradations = vec![Degradation::MaxTokensCapped { asked: 900, room: 12 }];
        reply.cache = Some(CacheReport::new(30, 20));
        reply.seed = Some(7);
        let verbose = Output { verbose: 1, ..Output::default() };
        let (_, err) = printed(&verbose, LineEnd::Always, &[], &reply);
        insta::assert_snapshot!(err);
    }
}
