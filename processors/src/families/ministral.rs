//! Family: Ministral
//! Models: Ministral 3 and its predecessors that name their architecture so
//! Replies: as Mistral's; the calls are `[TOOL_CALLS]name[ARGS]{json}`.

use super::mistral;
use crate::family::{Family, is_one_of};

pub(crate) static FAMILY: Family = Family {
    name: "ministral",
    detect: |model| {
        let architectures =
            ["MinistralForCausalLM", "Ministral3ForCausalLM", "Ministral3ForConditionalGeneration"];
        is_one_of(model, &architectures, &["ministral", "ministral3"])
    },
    spans: mistral::SPANS,
    shape: crate::shape::mistral,
    call_id: |number| format!("call{number:05}"),
    ..Family::PLAIN
};
