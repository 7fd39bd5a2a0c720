//! Calls as Python writes them. Strings and numbers are those of JSON, which Python reads alike. Knows no marks.

use alloquy_core::{Result, ToolSpec};

use super::lark::{Rules, quoted};
use super::values::{Notation, Strings, Values, object};

static VALUES: Notation<'_> =
    Notation { words: ["True", "False", "None"], comma: ", ", colon: ": ", strings: Strings::Json };

/// A call with keyword arguments.
pub(crate) fn call(tool: &ToolSpec, rules: &mut Rules<'_>) -> Result<String> {
    let parameters = object(&tool.parameters);
    let arguments =
        Values::new(&VALUES, &parameters, rules).fields(&parameters, &|name| format!("{name}="))?;
    Ok(rules.add_new(&format!("{} {arguments} \")\"", quoted(&format!("{}(", tool.name)))))
}
