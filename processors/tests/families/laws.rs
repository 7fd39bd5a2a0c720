//! Every family obeys the laws of data processors.

use alloquy_core::laws;

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
