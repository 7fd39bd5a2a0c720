//! Family: Ministral
//! Models: Ministral 3, and its predecessors with the same architecture
//! Replies: as Mistral's. The calls are `[TOOL_CALLS]name[ARGS]{json}`.

use super::mistral;
use crate::built_in::{BuiltIn, is_one_of};
use crate::family::CallIdForm;

pub(crate) static FAMILY: BuiltIn = BuiltIn {
    name: "ministral",
    detect: |model| {
        let architectures =
            ["MinistralForCausalLM", "Ministral3ForCausalLM", "Ministral3ForConditionalGeneration"];
        is_one_of(model, &architectures, &["ministral", "ministral3"])
    },
    spans: mistral::SPANS,
    shape: Some(crate::shape::mistral),
    call_ids: CallIdForm::NineCharacters,
    ..BuiltIn::PLAIN
};
