//! Every family obeys the laws of data processors.

use alloquy_core::media::MediaKind;
use alloquy_testing::laws;

use crate::support;

/// Replies of every shape that some family has; to the others they are text.
const REPLIES: &[&str] = &[
    "",
    "\n\n",
    "Just text.",
    "<think>\nTwo and two.\n</think>\n\nFour.",
    "<think>\n\n</think>\n\nFour.",
    "<think>never closed\n\n",
    "Before <think>inside</think> after <think>again</think>\n",
    "</think> alone, and < or <thin or <tool_ca",
    "<<think><</think<</think>x",
    "<tool_call>\n{\"name\": \"add\", \"arguments\": {\"a\": 1}}\n</tool_call>",
    "<think>\nHm\n</think>\n\nOne moment.\n<tool_call>\n{\"name\": \"add\", \"arguments\": {\"é\": \"</tool_call>\"}}\n</tool_call>\n<tool_call>{\"name\": \"b\"}</tool_call>\n\nDone.",
    "One.\n\n<tool_call>{broken</tool_call>\n\n<tool_call>\n{\"name\": \"a \"b\", \"arguments\": {}}\n</tool_call>\nTwo.\n",
    "<tool_call>{\"name\": \"add\", \"arguments\": {}}",
    "<tool_call>{\"name\": \"add\", \"argum",
    "<tool_call>[{\"name\": \"a\"}, {\"name\": \"b\"}]\n{\"name\": \"c\"}</tool_call>\n",
];

#[test]
fn every_family_obeys_the_laws() {
    for family in alloquy_processors::families() {
        laws::processor::all(&*support::processor(family), &support::specials(family), REPLIES);
    }
}

#[test]
fn media_stand_where_templates_of_the_family_print_their_places() {
    let image = |place| (MediaKind::Image, place);
    let audio = |place| (MediaKind::Audio, place);
    let video = |place| (MediaKind::Video, place);
    let families: [(&str, &[(MediaKind, &str)]); 8] = [
        ("gemma3", &[image("<start_of_image>"), image("<image_soft_token>"), audio("<audio_soft_token>")]),
        ("gemma4", &[image("<|image|>"), audio("<|audio|>"), video("<|video|>")]),
        ("qwen2_5", &[image("<|image_pad|>"), video("<|video_pad|>"), audio("<|AUDIO|>"), image("<image>")]),
        ("qwen3", &[image("<|image_pad|>"), video("<|video_pad|>")]),
        ("qwen3_5", &[image("<|image_pad|>"), video("<|video_pad|>")]),
        ("lfm2", &[image("<image>")]),
        ("vicuna", &[image("<image>")]),
        ("generic", &[image("<image>"), audio("<|audio|>"), video("<|video|>")]),
    ];
    for (family, places) in families {
        laws::processor::media_are_at_their_places(&*support::processor(family), places);
    }
}
