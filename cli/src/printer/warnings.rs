//! Describes warnings to people.

use alloquy::core::media::Digest;
use alloquy::core::report::{DraftSource, DraftStop, Warning};

use crate::preview::shortened;

/// How many characters of a digest are shown.
const DIGEST: usize = 13;

/// Describes a difference between a request and its prompt or reply.
pub(crate) fn warning(warning: &Warning) -> String {
    of_request(warning)
        .or_else(|| of_history(warning))
        .or_else(|| of_template(warning))
        .or_else(|| of_grounding(warning))
        .or_else(|| of_media(warning))
        .or_else(|| of_answer(warning))
        .or_else(|| of_model(warning))
        .unwrap_or_else(|| format!("({warning:?})"))
}

/// Describes what of a request has no effect, or less than was requested.
fn of_request(warning: &Warning) -> Option<String> {
    Some(match warning {
        Warning::MaxTokensCapped { asked, room } => {
            format!("(--max-tokens {asked} is more than the context has room for: {room})")
        }
        Warning::ToolsExcluded { tools } => {
            format!(
                "(none of the {tools} tools can be called with this response format: --tool-choice auto allows both)"
            )
        }
        Warning::OptionIgnored { name } => format!("(the option {name} has no effect on this model)"),
        Warning::ThinkingSwitchIgnored => {
            "(the template has no switch for thinking: --thinking changes nothing)".to_owned()
        }
        _ => return None,
    })
}

/// Describes early messages that the model no longer sees.
fn of_history(warning: &Warning) -> Option<String> {
    Some(match warning {
        Warning::HistoryShifted { dropped, tokens } => {
            format!("(the model no longer sees {dropped} early messages of {tokens} tokens: they do not fit)")
        }
        Warning::HistorySummarized { dropped, tokens, summary: 0, .. } => {
            format!(
                "(the model no longer sees {dropped} early messages of {tokens} tokens, nor a summary of them)"
            )
        }
        Warning::HistorySummarized { dropped, tokens, summary, left_out, .. } => {
            let rest = match left_out {
                0 => String::new(),
                left_out => format!(", which leaves out {left_out} of them"),
            };
            format!(
                "(a summary of {summary} tokens replaces {dropped} early messages of {tokens}{rest}: they do not fit)"
            )
        }
        Warning::SummaryCut => "(the summary of early messages ends before it is complete)".to_owned(),
        _ => return None,
    })
}

/// Describes a difference between messages and the prompt that the template makes of them.
fn of_template(warning: &Warning) -> Option<String> {
    Some(match warning {
        Warning::ControlTokenLetThrough { token, source, times } => {
            let source = source.as_str();
            format!("(a control token was allowed: {token:?} from {source}, times {times})")
        }
        Warning::RoleMarkerInText { marker, source, times, .. } => {
            let source = source.as_str();
            format!(
                "(a text from {source} has the template's own role marker {marker:?}, times {times}: the model may take what follows for another message)"
            )
        }
        Warning::InstructionsMerged { messages } => {
            format!(
                "(the template has no place for {messages} system messages: the first question begins with them)"
            )
        }
        Warning::LeftOut { what } => format!("(the template leaves out {what})"),
        Warning::ThinkingLeftOut { messages } => {
            format!("(the template leaves out thinking that was to be kept, of {messages} earlier answers)")
        }
        Warning::TemplateChanged { before, now } => {
            let [before, now] = [before, now].map(|digest| shortened(&digest.to_string(), DIGEST));
            format!("(another template than for the answer before: {now}, it was {before})")
        }
        _ => return None,
    })
}

/// Describes what the model does not see of documents and notes.
fn of_grounding(warning: &Warning) -> Option<String> {
    Some(match warning {
        Warning::RetrievalFailed { retriever, error } => {
            format!("the retriever {retriever:?} failed, and the reply does without its passages: {error}")
        }
        Warning::NotesLeftOut { notes } => {
            format!("(the model does not see {notes} more notes from memory: they are beyond its limits)")
        }
        Warning::MemoryUnavailable { from, reason } => {
            format!("(the model sees no notes from memory: {from} failed: {reason})")
        }
        _ => return None,
    })
}

/// Describes an answer that is not as it was to be.
fn of_answer(warning: &Warning) -> Option<String> {
    Some(match warning {
        Warning::BrokenText => "(the answer ends within a character, shown as \u{FFFD})".to_owned(),
        Warning::ThinkingCut { tokens } => {
            format!("(the model was made to answer after {tokens} tokens of thinking)")
        }
        Warning::GrammarViolated { tokens } => format!(
            "(the answer does not match its grammar from its token {} on: the server did not enforce it)",
            tokens + 1
        ),
        Warning::RepetitionStopped { period, times } => {
            let tokens = if *period == 1 { "token" } else { "tokens" };
            format!(
                "(the answer was ended because it repeated the same {period} {tokens} {times} times; --repetition-detection 0 lets it continue)"
            )
        }
        Warning::UnwantedCall { marker } => {
            format!(
                "(the answer contains {marker:?}, which marks a tool call, although no tool can be called)"
            )
        }
        Warning::UnknownToolCalled { name, times } => {
            let times = if *times == 1 { "once".to_owned() } else { format!("{times} times") };
            format!("(the model called the tool {name:?} {times}, and there is no such tool)")
        }
        Warning::GrammarCut => "(the answer ends before its grammar is complete)".to_owned(),
        Warning::ReplyRejected { attempts, reason } => {
            format!("(the answer was rejected {attempts} times, the last one because {reason})")
        }
        _ => return None,
    })
}

/// Describes what computed the answer in place of what was requested.
fn of_model(warning: &Warning) -> Option<String> {
    Some(match warning {
        Warning::ProviderReplaced { asked, used, reason } => {
            format!("({used} computes instead of {asked}: {reason})")
        }
        Warning::ModelReplaced { asked, used, reason } => {
            format!("({used} answered instead of {asked}: {reason})")
        }
        Warning::DraftHeadsIgnored { heads } => {
            format!(
                "(the model's heads that predict several tokens at once are not used: {})",
                heads.join(", ")
            )
        }
        Warning::DraftsStopped { source, reason } => stopped(*source, reason),
        _ => return None,
    })
}

/// Describes why the rest of an answer had no drafts. Its tokens are the same.
fn stopped(source: DraftSource, reason: &DraftStop) -> String {
    let source = match source {
        DraftSource::Lookup => "from the prompt",
        _ => "of the draft model",
    };
    let reason = match reason {
        DraftStop::TooSlow { guessed, kept, lost } => {
            format!("{kept} of {guessed} tokens were accepted, which made it {lost} ms slower")
        }
        DraftStop::NotRewindable => "the model cannot remove rejected tokens from its state".to_owned(),
        DraftStop::Media => "the prompt has media, and the draft model takes text alone".to_owned(),
        DraftStop::ContextFull { context } => {
            format!("the draft model's context of {context} positions is full")
        }
        DraftStop::Failed { error } => format!("the draft model failed: {error}"),
        other => format!("{other:?}"),
    };
    format!("(drafts {source} were switched off for the rest of the answer: {reason})")
}

/// Describes a difference between media and what the model gets of them.
fn of_media(warning: &Warning) -> Option<String> {
    Some(match warning {
        Warning::PixelsCapped { media, wanted, taken } => {
            let media = short_digest(media);
            format!(
                "(the image {media} is made smaller, to {taken} pixels and not {wanted}: --pixel-cap decides)"
            )
        }
        Warning::FramesSampled { media, frames, taken } => {
            format!("(the model sees {taken} of the {frames} frames of the video {})", short_digest(media))
        }
        Warning::AudioPadded { media, milliseconds, padded } => {
            let media = short_digest(media);
            format!("(the audio {media} of {milliseconds} ms is followed by silence, up to {padded} ms)")
        }
        Warning::AudioCut { media, missing, partial } => {
            let media = short_digest(media);
            format!(
                "(the audio {media} is shorter than its header says: {missing} bytes are missing, {partial} of a last frame \
                 are left out)"
            )
        }
        Warning::AudioChunked { media, chunks } => {
            format!("(the model gets the audio {} in {chunks} pieces)", short_digest(media))
        }
        _ => return None,
    })
}

fn short_digest(media: &Digest) -> String {
    shortened(&media.to_string(), DIGEST)
}
