//! One call that makes much of little.

use super::{Attempt, attempt};

pub(super) fn attempts() -> Vec<Attempt> {
    [filled(), many(), numbers()].concat()
}

fn filled() -> Vec<Attempt> {
    vec![
        attempt("a text filled up to the left", "{{ 'x'.ljust(10 ** 9) }}"),
        attempt("a text filled up to the right", "{{ 'x'.rjust(10 ** 9) }}"),
        attempt("a text filled up with zeros", "{{ 'x'.zfill(10 ** 9) }}"),
        attempt("tabs", "{{ ('\\t' * 100000).expandtabs(100000) }}"),
        attempt(
            "filters in filters",
            &format!("{}x{}", "{% filter center(65536) %}".repeat(30), "{% endfilter %}".repeat(30)),
        ),
        attempt("many texts filled up", "{{ range(100000) | map('center', 65000) | join | length }}"),
        attempt("many lines indented", "{{ ('a\\n' * 1000000) | indent(1000) | length }}"),
        attempt(
            "an indented JSON of many lines",
            "{{ [[[[range(100000) | list]]]] | tojson(indent=256) | length }}",
        ),
        attempt("many widths", "{{ ('%1024s' * 1000000) % (('a',) * 1000000) }}"),
        attempt("many widths of the other kind", "{{ ('{0:1024}' * 1000000).format('a') | length }}"),
        attempt("a long text many times in a format", "{{ ('{0}' * 100000).format('a' * 100000) | length }}"),
        attempt("a long text many times by name", "{{ ('%(a)s' * 100000) % {'a': 'a' * 100000} }}"),
        attempt("the time, wide", "{{ strftime_now('%1000000000Y') }}"),
        attempt("the time, often", "{{ strftime_now('%c' * 10000000) }}"),
        attempt("an error of many words", "{{ raise_exception('x' * 10000000) }}"),
        attempt("an error of more words", "{{ raise_exception(['x' * 10000000] * 100) }}"),
    ]
}

fn many() -> Vec<Attempt> {
    vec![
        attempt("a long text between long texts", "{{ ('x' * 100000).join(['y'] * 100000) | length }}"),
        attempt("a long text between letters", "{{ ('x' * 10000).join('y' * 1000000) | length }}"),
        attempt("something for nothing", "{{ ('a' * 10000).replace('', 'b' * 100000) | length }}"),
        attempt("letters that grow", "{{ ('ΐ' * 8000000) | upper | length }}"),
        attempt("lists summed", "{{ ([[1, 2]] * 100000) | sum(start=[]) | length }}"),
        attempt("lists of lists of lists", "{{ [[[0] * 10000] * 10000] * 10000 }}"),
        attempt("lists of lists as JSON", "{{ [[[0] * 10000] * 10000] * 10000 | tojson }}"),
        attempt("messages repeated", "{{ (messages * 10000000) | tojson | length }}"),
        attempt("a long path", &format!("{{{{ [1] | map(attribute='{}') | list }}}}", "x.".repeat(200_000))),
        attempt(
            "a sort by a long path",
            &format!("{{{{ [1, 2] | sort(attribute='{}') }}}}", "x.".repeat(200_000)),
        ),
        attempt(
            "filters by name",
            "{{ range(100000) | map('batch', 100000, 0) | map('list') | list | length }}",
        ),
        attempt(
            "slices by name",
            "{{ range(100000) | map('string') | map('slice', 100000) | map('list') | list | length }}",
        ),
        attempt("ranges by name", "{{ ([100000] * 100000) | map('range') | map('list') | list | length }}"),
        attempt("a cycle of many", "{{ cycler(*([0] * 100000000)).next() }}"),
        attempt("many arguments", "{% macro f() %}{% endmacro %}{{ f(*([0] * 100000000)) }}"),
        attempt("pairs of pairs", "{{ ({'a': 1}.items() | list * 100000000) | dictsort }}"),
        attempt("a sort of many texts", "{{ (['ab' * 10000] * 100000) | sort | length }}"),
        attempt("a sort of many capitals", "{{ (['ab' * 10000] * 100000) | unique | list | length }}"),
        attempt(
            "attributes of XML",
            "{{ {'a': 'x' * 8000000, 'b': '&' * 8000000, 'c': '<' * 8000000} | xmlattr }}",
        ),
        attempt(
            "words wrapped at each letter",
            "{{ ('a ' * 4000000) | wordwrap(1, wrapstring='x' * 1000) | length }}",
        ),
    ]
}

fn numbers() -> Vec<Attempt> {
    vec![
        attempt("a power", "{{ 9 ** 9 ** 9 }}"),
        attempt("a power of ten", "{{ 10 ** 1000000000 }}"),
        attempt(
            "powers of powers",
            "{% set ns = namespace(x=2) %}{% for i in range(100) %}{% set ns.x = ns.x * ns.x %}{% endfor %}{{ ns.x }}",
        ),
        attempt("a power of a fraction", "{{ 10.5 ** 10 ** 10 }}"),
        attempt("a long number", "{{ ('9' * 10000000) | int }}"),
        attempt("a long fraction", "{{ ('9' * 10000000) | float }}"),
        attempt("a number written out", &format!("{{{{ {} }}}}", "9".repeat(60_000))),
        attempt("a long range's length", "{{ range(10 ** 15) | length }}"),
        attempt("a range downwards", "{{ range(10 ** 15, 0, -1) | list }}"),
        attempt("a range without a step", "{{ range(0, 10, 0) | list }}"),
        attempt("a slice without a step", "{{ 'abc'[::0] }}"),
        attempt("a rounded number", "{{ 1.5 | round(1000000000) }}"),
        attempt("a division by nothing", "{{ 1 // 0 }}"),
        attempt("the least number divided", "{{ (-(2 ** 63)) // -1 }}{{ (-(2 ** 127)) // -1 }}"),
    ]
}
