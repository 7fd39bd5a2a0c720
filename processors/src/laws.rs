//! What the laws of other crates need to check a family.

use alloquy_core::Result;
use alloquy_core::message::ToolCall;
use alloquy_core::model_info::ModelInfo;

use crate::built_in::chat_template;
use crate::calls::Call;
use crate::configured::Configured;
use crate::families;
use crate::tool_grammar::{Writer, written};

/// Returns calls as the templates of a family print them for this model, with their markers; `None` for families without
/// calls, or if `calls` is empty.
///
/// ```
/// use alloquy_core::model_info::ModelInfo;
/// use alloquy_core::message::ToolCall;
/// use serde_json::json;
///
/// let call = ToolCall::new("call_0", "add", json!({"a": 1}));
/// let written = alloquy_processors::laws::written_calls("qwen3", &ModelInfo::default(), &[call])?;
/// let expected = "<tool_call>{\"name\": \"add\", \"arguments\": {\"a\": 1}}</tool_call>";
/// assert_eq!(written.as_deref(), Some(expected));
/// # Ok::<(), alloquy_core::Error>(())
/// ```
///
/// # Errors
/// [`ErrorKind::NotFound`](alloquy_core::ErrorKind::NotFound) for an unknown family.
pub fn written_calls(family: &str, model: &ModelInfo, calls: &[ToolCall]) -> Result<Option<String>> {
    let template = chat_template(model);
    let specials = &model.specials;
    let stop_tokens = &model.stop_tokens;
    let family = Configured::built_in(families::named(family)?);
    let writer = Writer { family: &family, specials, stop_tokens, template: &template };
    let mut without_ids = Vec::new();
    for call in calls {
        let arguments = call.arguments.as_object().cloned().unwrap_or_default();
        without_ids.push(Call { name: call.name.clone(), arguments });
    }
    Ok(written(writer, &without_ids))
}
