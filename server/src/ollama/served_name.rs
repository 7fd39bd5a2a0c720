//! The names of models, as Ollama's clients write them.

use crate::app::App;

/// Returns the name under which a model is served: without the tag `latest`, which every name has in Ollama.
pub(super) fn served_name(app: &App, given: &str) -> String {
    let is_served = app.models().status(given).is_ok() || app.embedders().find(given).is_some();
    match given.strip_suffix(":latest") {
        Some(name) if !is_served => name.to_owned(),
        _ => given.to_owned(),
    }
}
