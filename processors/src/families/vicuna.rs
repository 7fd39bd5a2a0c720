//! Family: Vicuna
//! Models: Llama models with Vicuna's conversation template or chat template; LLaVA 1.5
//! Replies: text, up to `</s>`. It is also a stop text, because some tokenizers treat it as text.
//! Media: `<image>` for images of LLaVA.

use alloquy_core::model_info::ModelInfo;
use serde_json::Value;

use crate::built_in::{BuiltIn, chat_template, is_one_of};
use crate::placeholders::image;

pub(crate) static FAMILY: BuiltIn = BuiltIn {
    name: "vicuna",
    detect: |model| {
        is_llama(model) && (named_by_conversation_template(model) || printed_by_chat_template(model))
    },
    // MLC's conversation template `vicuna_v1.1`, `stop_str`.
    stops: &["</s>"],
    placeholders: &[image("<image>")],
    ..BuiltIn::PLAIN
};

fn is_llama(model: &ModelInfo) -> bool {
    let architectures = ["LlamaForCausalLM", "LlavaForConditionalGeneration", "LlavaLlamaForCausalLM"];
    is_one_of(model, &architectures, &["llama", "llava"])
}

/// MLC models name their conversation template: as text, or in an object with a name.
fn named_by_conversation_template(model: &ModelInfo) -> bool {
    // A damaged file counts as missing here. The error is reported where the file is needed.
    let config = model.json("mlc-chat-config.json").ok().flatten().unwrap_or_default();
    ["conv_template", "conv_config"].iter().any(|key| {
        let template = config.get(key).unwrap_or(&Value::Null);
        let name = template.as_str().or_else(|| template.get("name")?.as_str());
        name.is_some_and(|name| name.starts_with("vicuna"))
    })
}

/// Vicuna's turns begin with `USER:` and `ASSISTANT:`.
fn printed_by_chat_template(model: &ModelInfo) -> bool {
    let template = chat_template(model);
    template.contains("USER:") && template.contains("ASSISTANT:") && !template.contains("<|start_header_id|>")
}
