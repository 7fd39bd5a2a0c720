//! What templates that mean harm try. Knows no limits and no outcomes.

mod calls;
mod loops;

/// What a template tries, and the source that tries it.
pub(crate) type Attempt = (&'static str, String);

/// Templates that never end, grow, nest, or reach where the engine fails.
pub(crate) fn attempts() -> Vec<Attempt> {
    [endless(), growing(), growing_at_once(), nesting(), jumping(), loops::attempts(), calls::attempts()]
        .concat()
}

/// Templates that make values which hold the same value twice, again and again.
pub(crate) fn of_shared_values() -> Vec<Attempt> {
    loops::shared()
}

fn attempt(name: &'static str, source: &str) -> Attempt {
    (name, source.to_owned())
}

fn endless() -> Vec<Attempt> {
    let loops = "{% for a in range(100000) %}{% for b in range(100000) %}BODY{% endfor %}{% endfor %}";
    vec![
        attempt("loops in loops", &loops.replace("BODY", "")),
        attempt("loops that compute", &loops.replace("BODY", "{% set x = a * b + 1 %}")),
        attempt("a macro that calls itself", "{% macro f(x) %}{{ f(x) }}{% endmacro %}{{ f(1) }}"),
        attempt(
            "macros that fan out",
            "{% macro f(n) %}{% if n %}{{ f(n - 1) }}{{ f(n - 1) }}{% endif %}{% endmacro %}{{ f(60) }}",
        ),
        attempt("a loop that calls itself", "{% for x in [1] recursive %}{{ loop([x]) }}{% endfor %}"),
        attempt(
            "long texts compared in a loop",
            "{% set x = 'ab' * 2000000 %}{% set y = x ~ '' %}{% for i in range(100000) %}{% if x == y %}{% endif %}{% endfor %}",
        ),
        attempt(
            "long texts searched in a loop",
            "{% set x = 'ab' * 2000000 %}{% for i in range(100000) %}{% if 'ba' * 1000 ~ 'c' in x %}{% endif %}{% endfor %}",
        ),
        attempt(
            "long texts printed in upper case and dropped",
            "{% set x = 'ab' * 2000000 %}{% for i in range(100000) %}{% set y = x | upper | length %}{% endfor %}",
        ),
        attempt(
            "long lists given a name in a loop",
            "{% set x = range(100000) | list %}{% for i in range(100000) %}{% set y = x %}{% endfor %}",
        ),
        attempt(
            "long lists sorted in a loop",
            "{% for i in range(100000) %}{% set y = range(100000) | sort | length %}{% endfor %}",
        ),
    ]
}

fn growing() -> Vec<Attempt> {
    let doubling = |piece: &str| {
        format!(
            "{{% set ns = namespace(x='ab') %}}{{% for i in range(60) %}}{{% set ns.x = {piece} %}}{{% endfor %}}{{{{ ns.x | length }}}}"
        )
    };
    vec![
        attempt("a text that doubles", &doubling("ns.x ~ ns.x")),
        attempt("a text that doubles by addition", &doubling("ns.x + ns.x")),
        attempt("a text that doubles by repetition", &doubling("ns.x * 2")),
        attempt("a text that doubles by a format", &doubling("'%s%s' % (ns.x, ns.x)")),
        attempt("a text that doubles by a method", &doubling("ns.x.replace('a', 'aab')")),
        attempt("a text that doubles by a filter", &doubling("ns.x | replace('a', 'aab')")),
        attempt("a text that doubles by joining", &doubling("[ns.x, ns.x] | join")),
        attempt("a text that doubles as JSON", &doubling("[ns.x, ns.x] | tojson")),
        attempt("a text that doubles as it prints", &doubling("[ns.x, ns.x] | string")),
        attempt("a text that doubles in a list", &doubling("[(ns.x | string) ~ (ns.x | string)]")),
        attempt("a list that doubles", &doubling("(ns.x | list) + (ns.x | list)")),
        attempt("a list that doubles by repetition", &doubling("(ns.x | list) * 2")),
        attempt(
            "a macro whose argument doubles",
            "{% macro f(x) %}{{ f(x ~ x) }}{% endmacro %}{{ f('ab') }}",
        ),
        attempt(
            "a loop whose item doubles",
            "{% for x in ['ab'] recursive %}{{ loop([x ~ x]) }}{% endfor %}",
        ),
        attempt(
            "a variable that doubles, written out",
            &format!("{{% set x = 'ab' %}}{}", "{% set x = x + x %}".repeat(60)),
        ),
        attempt(
            "a captured text that doubles",
            &format!("{{% set x = 'ab' %}}{}", "{% set x %}{{ x }}{{ x }}{% endset %}".repeat(60)),
        ),
        attempt(
            "scopes in which a text doubles",
            &format!(
                "{}{}",
                "{% with x = (x or 'ab') ~ (x or 'ab') %}".repeat(60),
                "{% endwith %}".repeat(60)
            ),
        ),
        attempt(
            "many variables of some size",
            &(0..2000).map(|i| format!("{{% set x{i} = 'ab' * 4000000 %}}")).collect::<String>(),
        ),
        attempt(
            "many lists of some size",
            &(0..2000).map(|i| format!("{{% set x{i} = [0] * 400000 %}}")).collect::<String>(),
        ),
    ]
}

fn growing_at_once() -> Vec<Attempt> {
    let long = "{% set x = 'ab' * 4000000 %}";
    let in_one = |piece: &str| format!("{long}{{{{ ({piece}) | length }}}}");
    let slices = (1..2000).map(|i| format!("x[{i}:]")).collect::<Vec<_>>().join(", ");
    vec![
        attempt("a long range", "{{ range(10 ** 12) | list }}"),
        attempt("a list repeated", "{{ ([0] * 100000000) | list }}"),
        attempt("a list repeated again and again", "{{ [0] * 10000 * 10000 * 10000 }}"),
        attempt("ranges in a chain", "{{ ((range(100000) | list) * 100000) | length }}"),
        attempt("a text repeated", "{{ 'x' * 10 ** 9 }}"),
        attempt("a text repeated again and again", "{{ 'x' * 10000 * 10000 * 10000 }}"),
        attempt("a text filled up", "{{ 'x'.center(10 ** 9) }}{{ 'x' | center(10 ** 9) }}"),
        attempt("an indentation", "{{ 'x' | indent(10 ** 9, true) }}"),
        attempt("a format's width", "{{ '%1000000000d' % 1 }}"),
        attempt("a format's precision", "{{ '%.1000000000f' | format(1.0) }}"),
        attempt("a format's width of the other kind", "{{ '{:1000000000}'.format('x') }}"),
        attempt("a format's width that is computed", "{{ '{:{w}}'.format('x', w=10 ** 9) }}"),
        attempt("a batch filled up", "{{ [1] | batch(10 ** 9, 0) | list }}"),
        attempt("slices filled up", "{{ [1] | slice(10 ** 9, 0) | list }}"),
        attempt("an indented JSON", "{{ [[[[1]]]] | tojson(indent=10 ** 9) }}"),
        attempt("filler text", "{{ lipsum(10 ** 9) }}"),
        attempt("long texts concatenated", &in_one(&["x"; 100].join(" ~ "))),
        attempt("long texts added", &in_one(&["x"; 100].join(" + "))),
        attempt("long texts joined", &in_one(&format!("[{}] | join", ["x"; 100].join(", ")))),
        attempt("long texts listed", &in_one(&format!("[{}] | string", ["x"; 100].join(", ")))),
        attempt("slices of a long text", &in_one(&format!("[{slices}]"))),
        attempt("a long text as characters", &in_one("x | list")),
        attempt("a long text split", &in_one("x.split('a')")),
        attempt("a long text replaced", &in_one("x.replace('a', x)")),
        attempt("a long text escaped", &in_one("('&' * 8000000) | e | e | e | e | e")),
        attempt("a long text gone through", "{% for c in 'ab' * 4000000 %}{% endfor %}"),
    ]
}

fn nesting() -> Vec<Attempt> {
    let list =
        "{% set ns = namespace(x=[]) %}{% for i in range(100000) %}{% set ns.x = [ns.x] %}{% endfor %}";
    let chain = |operator: &str| format!("{{{{ {} }}}}", vec!["x"; 50_000].join(operator));
    let mega = |piece: &str| piece.repeat((10 << 20) / piece.len());
    vec![
        attempt("lists in lists", list),
        attempt("dicts in dicts", &list.replace("[ns.x]", "{'x': ns.x}")),
        attempt("tuples in tuples", &list.replace("[ns.x]", "(ns.x, 1)[0:]")),
        attempt(
            "lists in lists, written out",
            &format!("{{% set x = 1 %}}{}", "{% set x = [x] %}".repeat(50_000)),
        ),
        attempt("a namespace in itself", "{% set ns = namespace() %}{% set ns.x = ns %}{{ ns == ns }}"),
        attempt("brackets", &format!("{{{{ {} }}}}", "[".repeat(100_000))),
        attempt("brackets that close", &format!("{{{{ {}{} }}}}", "(".repeat(100_000), ")".repeat(100_000))),
        attempt("dicts", &format!("{{{{ {}1{} }}}}", "{1: ".repeat(50_000), "}".repeat(50_000))),
        attempt("subscripts", &format!("{{{{ {}1{} }}}}", "x[".repeat(50_000), "]".repeat(50_000))),
        attempt("calls", &format!("{{{{ {}1{} }}}}", "f(".repeat(50_000), ")".repeat(50_000))),
        attempt("signs", &format!("{{{{ {}1 }}}}", "-".repeat(500_000))),
        attempt("negations", &format!("{{{{ {}1 }}}}", "not ".repeat(200_000))),
        attempt("sums", &chain(" + ")),
        attempt("concatenations", &chain(" ~ ")),
        attempt("products", &chain(" * ")),
        attempt("alternatives", &chain(" or ")),
        attempt("choices", &format!("{{{{ {}1 }}}}", "1 if x else ".repeat(50_000))),
        attempt("choices without an alternative", &format!("{{{{ 1 {} }}}}", "if x ".repeat(50_000))),
        attempt("comparisons", &chain(" < ")),
        attempt("filters", &format!("{{{{ x{} }}}}", " | upper".repeat(50_000))),
        attempt("tests", &format!("{{{{ x{} }}}}", " is defined".repeat(50_000))),
        attempt("attributes", &format!("{{{{ x{} }}}}", ".x".repeat(200_000))),
        attempt("branches", &format!("{{% if x %}}{}{{% endif %}}", "{% elif x %}".repeat(50_000))),
        attempt("blocks", &"{% if x %}".repeat(50_000)),
        attempt("loops that are not closed", &"{% for x in y %}".repeat(50_000)),
        attempt("10 MB of brackets", &format!("{{{{ {}", mega("["))),
        attempt("10 MB of blocks", &mega("{% if x %}")),
        attempt("10 MB of text", &mega("x")),
    ]
}

fn jumping() -> Vec<Attempt> {
    let jump = |open: &str, close: &str| {
        format!("{{% for i in [1] %}}{{% {open} %}}{{% break %}}{{% {close} %}}{{% endfor %}}")
    };
    vec![
        attempt("break inside with", &jump("with x = 1", "endwith")),
        attempt("break inside a filter", &jump("filter upper", "endfilter")),
        attempt("break inside a capture", &jump("set x", "endset")),
        attempt("break inside a call", &jump("call f()", "endcall")),
        attempt("break outside", "{% break %}"),
    ]
}
