//! Which model folder an example runs on.

/// Returns the folder named as the first argument, by ALLOQUY_MODEL, or a tiny one of random weights.
pub(crate) fn of_model() -> String {
    let variable = |name: &str| std::env::var(name).ok();
    let shared = || variable("ALLOQUY_SHARED").unwrap_or_else(|| "../shared".to_owned());
    let named = std::env::args().nth(1).or_else(|| variable("ALLOQUY_MODEL"));
    named.unwrap_or_else(|| shared() + "/models/tiny/genai-qwen3-fp32")
}
