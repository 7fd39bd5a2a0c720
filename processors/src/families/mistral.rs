//! Family: Mistral
//! Models: Mistral 7B from v0.3 on, Nemo, Small, Large, Mixtral 8x22B, Devstral, Magistral
//! Replies: `[THINK]…[/THINK]` in models that think, then text. Calls are `[TOOL_CALLS]` and a JSON list, or any number of
//!   `[TOOL_CALLS]name[ARGS]{json}`.
//!
//! Templates demand ids of nine letters or digits. Other ids are replaced, in calls and in results.

use crate::built_in::{self, BuiltIn, Span, is_one_of, prints, thinking};
use crate::calls;
use crate::family::CallIdForm;
use crate::shape;

pub(crate) static FAMILY: BuiltIn = BuiltIn {
    name: "mistral",
    detect: |model| {
        let architectures = ["MistralForCausalLM", "MixtralForCausalLM", "Mistral3ForConditionalGeneration"];
        let types = ["mistral", "mixtral", "mistral3"];
        is_one_of(model, &architectures, &types) && prints(model, &["[INST]", "[TOOL_CALLS]"])
    },
    spans: SPANS,
    shape: Some(shape::mistral),
    call_ids: CallIdForm::NineCharacters,
    ..BuiltIn::PLAIN
};

/// The marked sections of a reply, also of Ministral's.
pub(super) const SPANS: &[Span] =
    &[thinking("[THINK]", "[/THINK]"), built_in::calls("[TOOL_CALLS]", "", &calls::CallSyntax::Mistral)];
