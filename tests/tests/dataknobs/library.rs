//! The library of prompts of a case, as far as its templates are no more than placeholders.

use serde_json::Value;

/// What begins a placeholder, a conditional part, a statement or a comment of a template.
pub(crate) const MARKS: [&str; 4] = ["{{", "((", "{%", "{#"];

/// The text of a system prompt of the library.
pub(crate) fn system_prompt(setup: &Value, name: &str) -> Option<String> {
    rendered(&setup["library"]["system"][name], &setup["system_params"])
}

/// Fills the placeholders of a template, where it has nothing else.
pub(crate) fn rendered(template: &Value, params: &Value) -> Option<String> {
    let mut text = template["template"].as_str().or(template.as_str())?.to_owned();
    for values in [params, &template["defaults"]] {
        for (name, value) in values.as_object().into_iter().flatten() {
            text = text.replace(&format!("{{{{{name}}}}}"), value.as_str()?);
        }
    }
    (!MARKS.iter().any(|mark| text.contains(mark))).then_some(text)
}
