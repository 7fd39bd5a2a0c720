//! Writes the grammar of calls in Python. Strings and numbers are those of JSON, which Python reads too.

use alloquy_core::{Result, ToolSpec};

use super::lark::{Rules, quoted};
use super::values::{Notation, Strings, Values, object};

static VALUES: Notation<'_> =
    Notation { words: ["True", "False", "None"], comma: ", ", colon: ": ", strings: Strings::Json };

/// Returns the rule of a call with keyword arguments.
pub(crate) fn call(tool: &ToolSpec, rules: &mut Rules<'_>) -> Result<String> {
    let parameters = object(&tool.parameters);
    let arguments =
        Values::new(&VALUES, &parameters, rules).fields(&parameters, &|name| format!("{name}="))?;
    Ok(rules.add_new(&format!("{} {arguments} \")\"", quoted(&format!("{}(", tool.name)))))
}
