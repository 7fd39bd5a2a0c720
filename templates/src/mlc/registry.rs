//! The built-in templates of both generations, by name. Each is a JSON file in `current/` or `legacy/`.

use alloquy_core::{Error, ErrorKind, Result};

use super::generation::Generation;
use super::named::{CURRENT, LEGACY};
use super::warning::Warning;

impl Generation {
    /// Returns all names with their objects.
    pub(super) fn named(self) -> &'static [(&'static str, &'static str)] {
        match self {
            Self::Current => CURRENT,
            Self::Legacy => LEGACY,
        }
    }

    /// Returns the object of a name.
    pub(super) fn find(self, name: &str) -> Option<&'static str> {
        self.named().iter().find(|(known, _)| *known == name).map(|(_, json)| *json)
    }

    /// Returns the object of a name, or an error that lists all names.
    pub(super) fn get(self, name: &str) -> Result<&'static str> {
        self.find(name).ok_or_else(|| {
            let known = self.named().iter().map(|(name, _)| *name).collect::<Vec<_>>().join(", ");
            let message = format!("unknown {self} conversation template {name:?}, one of: {known}");
            Error::new(ErrorKind::NotFound, message)
        })
    }

    /// Returns the known defects of a built-in template.
    pub(super) fn defects(self, name: &str) -> impl Iterator<Item = Warning> {
        let of_name =
            DEFECTS.iter().filter(move |(generation, known, _)| (*generation, *known) == (self, name));
        of_name.map(|(_, name, sentence)| Warning::KnownDefect { name, sentence })
    }
}

const DOUBLE_END: &str = "ends the system text by <|im_end|> twice";
const NO_END: &str = "has no <|end|> and no line feed after the system text";
const GLUED: &str = "has nothing between the system text and the first role";
const THINKING: &str = "prints the beginning of a thinking block before each earlier reply too";

/// Built-in templates that differ from what their models' authors intended. They are kept as in MLC.
const DEFECTS: &[(Generation, &str, &str)] = &[
    (Generation::Legacy, "chatml", DOUBLE_END),
    (Generation::Legacy, "qwen", DOUBLE_END),
    (Generation::Legacy, "baichuan", DOUBLE_END),
    (Generation::Legacy, "internlm", DOUBLE_END),
    (Generation::Legacy, "llama-2", "prints [INST] twice before the first message"),
    (Generation::Legacy, "mistral_default", "prints [INST] twice before the first message"),
    (Generation::Legacy, "orion", "calls the assistant \"Assitant\""),
    (Generation::Legacy, "rwkv_world", "has its system text in parentheses"),
    (Generation::Legacy, "gpt2", "stops at \"|endoftext|\", which lacks its brackets"),
    (Generation::Current, "phi-3", NO_END),
    (Generation::Current, "phi-4", NO_END),
    (Generation::Current, "gorilla", GLUED),
    (Generation::Current, "gorilla-openfunctions-v2", GLUED),
    (Generation::Current, "dolly", GLUED),
    (Generation::Current, "wizard_coder_or_math", GLUED),
    (Generation::Current, "qwen3_5", THINKING),
    (Generation::Current, "qwen3_5_nothink", THINKING),
];
