//! Which code runs which kind of row.

use std::panic::{AssertUnwindSafe, catch_unwind};

use serde_json::json;

use crate::outcome::Outcome;
use crate::row::Row;
use crate::{
    budget, calls, channels, constraints, cut, demands, dialects, draws, factory, formatters, inputs, logits,
    replies, scripts, stops, templates, units,
};

/// Runs a row. One that makes the code panic is one that differs.
pub(crate) fn run(row: &Row) -> Outcome {
    catch_unwind(AssertUnwindSafe(|| dispatch(row))).unwrap_or_else(|panic| {
        let words = panic.downcast_ref::<String>().map(String::as_str);
        let words = words.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("no words");
        Outcome::compared(row.expected.clone(), json!({"panicked": words}))
    })
}

fn dispatch(row: &Row) -> Outcome {
    match row.kind.as_str() {
        "fc_parse" | "fc_parse_observed" => calls::parse(row, "fc"),
        "python_parse" | "python_parse_observed" => calls::parse(row, "python"),
        "json_parse" | "json_parse_observed" => calls::parse(row, "json"),
        "syntax_type" => calls::syntax(row),
        "parse_text_and_tool_calls" => replies::text_and_calls(row),
        "to_message" => replies::to_message(row),
        "CodeFenceStart" => replies::fence(row, 0),
        "CodeFenceEnd" => replies::fence(row, 1),
        "stream" => replies::stream(row),
        "extract_channel_content" => channels::extract(row),
        "GetOpenChannelName" => channels::open(row),
        "fc_format_value" => formatters::value(row, "fc"),
        "python_format_value" => formatters::value(row, "python"),
        "fc_format_tool" => formatters::tool(row, "fc"),
        "python_format_tool" => formatters::tool(row, "python"),
        "message_to_template_input" => inputs::message(row),
        "format_tools" => inputs::tools(row),
        "to_input_data" => cut::input_data(row),
        "process_multimodal_prompt" => cut::multimodal(row),
        "load_item_data" => dialects::load_item(row),
        "litertlm_message_from_gemini" => dialects::from_gemini(row),
        "gemini_response_from_litertlm" => dialects::to_gemini(row),
        "openai_message_translate" => dialects::from_openai(row),
        "openai_tool_call_ids" => dialects::call_ids(row),
        "render" | "render_observed" => templates::render(row),
        "prefix_stability" => templates::prefix_stability(row),
        "capabilities" => templates::capabilities(row),
        "single_turn_render" => scripts::single_turn(row),
        "conversation_mock_session" => scripts::conversation(row),
        "prefix_cache" => units::prefix_cache(row),
        "stop_add" => stops::add(row),
        "stop_stream" => stops::stream(row),
        "repetition_penalty_processor" | "no_repeat_ngram_processor" | "suppress_tokens_processor" => {
            logits::processor(row)
        }
        "repetition_penalty_config" | "no_repeat_ngram_config" | "suppress_tokens_config" => {
            logits::config(row)
        }
        "sampling" | "top_p_sampler" => draws::run(row),
        "llg_constraint" => constraints::grammar(row),
        "thinking_budget" => budget::run(row),
        "fc_tool_call_constraint" => constraints::tool_calls(row, "fc"),
        "python_tool_call_constraint" => constraints::tool_calls(row, "python"),
        "fc_grammar_error" => constraints::no_tools(row),
        "response_format" | "parse_response_format_invalid" => demands::form(row),
        "factory" => factory::run(row),
        "thinking_config" => demands::thinking(row),
        kind => Outcome::Skipped(unrunnable(kind).to_owned()),
    }
}

/// Why a kind of row has nothing here that could run it.
fn unrunnable(kind: &str) -> &'static str {
    match kind {
        "misc" => "asserts something of the test's own JSON value",
        "image_resize" | "image_patchify" | "image_decode" | "aspect_preserving_size" => {
            "needs preprocessing of images, which no family has"
        }
        "visual_token_budget" => "needs a family that reads images",
        "audio_mel" | "audio_decode" => {
            "needs preprocessing of audio, and a recording that is not among the cases"
        }
        "session_utils" => {
            "feeds prompt prefixes of a model file's metadata to a session; here templates print them"
        }
        "model_type" => "infers a family from ids of a mocked tokenizer; here a model's files name it",
        "model_id_regex_parsing" | "parse_model_parameter_valid" | "parse_model_parameter_invalid" => {
            "reads an address of LiteRT-LM's server; there is no server here"
        }
        "sse" | "usage" | "models" => "is an answer of LiteRT-LM's server; there is no server here",
        _ => "is of a kind that is not known",
    }
}
