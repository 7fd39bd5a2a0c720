//! Finds heads that predict several tokens at once (multi-token prediction), which nothing here uses.
//!
//! Models such as DeepSeek-V3, GLM-4.5 and Qwen3-Next were trained with them. Most exports leave them out, so a `config.json` with
//! `num_nextn_predict_layers` or `mtp_num_hidden_layers` does not show that a folder has one. An output of the graph does, and so
//! does a graph of its own.

use alloquy_core::report::Warning;

/// The words in the names of such outputs and files: `mtp_logits`, `onnx/nextn_0_q4.onnx`.
const WORDS: [&str; 2] = ["mtp", "nextn"];

/// Returns whether an output or a file is such a head, by its name.
pub(crate) fn is_draft_head(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    let words = name.split(|character: char| !character.is_ascii_alphabetic());
    words.into_iter().any(|word| WORDS.contains(&word))
}

/// Returns whether a file is the graph of such a head, by its path in the model.
pub(crate) fn is_draft_graph(path: &str) -> bool {
    let name = path.rsplit(['/', '\\']).next().unwrap_or(path);
    name.ends_with(".onnx") && is_draft_head(name)
}

/// Returns the warning about a model's heads: outputs of its graph, and files; `None` if it has none.
pub(crate) fn ignored(outputs: &[String], files: &[String]) -> Option<Warning> {
    if outputs.is_empty() && files.is_empty() {
        return None;
    }
    Some(Warning::DraftHeadsIgnored { heads: [outputs, files].concat() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn heads_are_found_by_words_of_their_names() {
        for name in ["mtp_logits", "mtp.0.logits", "logits_mtp1", "MTP_hidden", "nextn_logits"] {
            assert!(is_draft_head(name), "{name}");
        }
        for name in ["logits", "present.0.key", "smtp", "prompt_logits", "next_token"] {
            assert!(!is_draft_head(name), "{name}");
        }
        assert!(is_draft_graph("onnx/mtp_q4.onnx") && !is_draft_graph("mtp/model.onnx"));
        assert!(!is_draft_graph("onnx/mtp_q4.onnx_data"));
    }
}
