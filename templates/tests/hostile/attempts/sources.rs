//! Sources that are long, broken, or both: just below what is allowed.

use super::{Attempt, attempt};

/// Just below the default limit.
const MOST: usize = 1_000_000;

fn filled(piece: &str) -> String {
    piece.repeat(MOST / piece.len())
}

fn printed(piece: &str) -> String {
    format!("{{{{ {} }}}}", filled(piece))
}

pub(super) fn attempts() -> Vec<Attempt> {
    vec![
        attempt("a megabyte of prints", &filled("{{1}}")),
        attempt("a megabyte of variables", &filled("{% set x = 1 %}")),
        attempt("a megabyte of macros", &filled("{% macro f() %}{% endmacro %}")),
        attempt("a megabyte of conditions", &filled("{% if x %}{% endif %}")),
        attempt("a megabyte of loops", &filled("{% for x in y %}{% endfor %}")),
        attempt("a megabyte of comments", &filled("{##}")),
        attempt("a megabyte of comments that are not closed", &filled("{# ")),
        attempt("a megabyte of raw text", &filled("{% raw %}{{{% endraw %}")),
        attempt("a megabyte of raw text that is not closed", &filled("{% raw %}")),
        attempt("a megabyte of prints that are not closed", &filled("{{ ")),
        attempt("a megabyte of ends", &filled("{% endif %}")),
        attempt("a megabyte of closing braces", &filled("}}")),
        attempt("a megabyte of quotes", &printed("'")),
        attempt("a megabyte of quotes that are not closed", &printed("'a\" ")),
        attempt("a megabyte of backslashes", &format!("{{{{ '{}' }}}}", filled("\\"))),
        attempt("a megabyte of escapes", &format!("{{{{ '{}' }}}}", filled("\\u0041"))),
        attempt("a megabyte of texts side by side", &printed("'a' ")),
        attempt("a megabyte of items", &format!("{{{{ [{}] }}}}", filled("1,"))),
        attempt("a megabyte of lists", &format!("{{{{ [{}] }}}}", filled("[],"))),
        attempt("a megabyte of keys", &format!("{{{{ {{{}}} }}}}", filled("1:1,"))),
        attempt("a megabyte of arguments", &format!("{{{{ f({}) }}}}", filled("x,"))),
        attempt("a megabyte of named arguments", &format!("{{{{ f({}) }}}}", filled("x=1,"))),
        attempt("a megabyte of parameters", &format!("{{% macro f({}y) %}}{{% endmacro %}}", filled("x,"))),
        attempt(
            "a megabyte of names in a loop",
            &format!("{{% for {}y in z %}}{{% endfor %}}", filled("x,")),
        ),
        attempt("a megabyte of one name", &printed("x")),
        attempt("a megabyte of signs", &printed("- ")),
        attempt("a megabyte of pluses", &printed("+")),
        attempt("a megabyte of dots", &printed(".")),
        attempt("a megabyte of pipes", &printed("|")),
        attempt("a megabyte of line feeds", &printed("\n")),
        attempt("a megabyte of closing brackets", &printed("]")),
        attempt("a megabyte of dashes", &filled("{%- -%}")),
        attempt("a megabyte of generations", &filled("{% generation %}{% endgeneration %}")),
        attempt(
            "a megabyte of breaks",
            &format!("{{% for x in [1] %}}{}{{% endfor %}}", filled("{% break %}")),
        ),
        attempt("a megabyte of scopes", &filled("{% with x = 1 %}{% endwith %}")),
        attempt(
            "a megabyte of namespaces",
            &format!("{{% set n = namespace() %}}{}", filled("{% set n.x = n %}")),
        ),
        attempt("a megabyte of zero bytes", &filled("\0")),
        attempt("a megabyte of combining characters", &filled("{{ x\u{301} }}")),
    ]
}
