//! Numeric flags, variables and keys at their limits and beyond: accepted, or refused in one sentence.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)] // a test may panic

mod program;
mod shared;

use std::time::{Duration, Instant};

use program::{Program, Ran};

/// What no number is, and what is beyond every one.
const NONSENSE: [&str; 8] = [
    "-1",
    "NaN",
    "inf",
    "many",
    "",
    "1e999",
    "-9223372036854775809",
    "340282366920938463463374607431768211456",
];

/// Two to the 63rd and 64th: where integers wrap.
const WRAPS: [&str; 2] = ["9223372036854775808", "18446744073709551616"];

/// A row of the table in docs/cli.md: a flag and what it takes.
struct Row {
    flag: String,
    takes: String,
}

/// The rows of flags that are settings too, or not.
fn rows() -> Vec<Row> {
    let page = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/cli.md")).unwrap();
    let rows = page.lines().filter_map(|line| {
        let (flag, takes) = line.strip_prefix("| `--")?.strip_suffix(" |")?.split_once("` | ")?;
        let known = ["a whole number from", "a number from", "a number above", "one of "];
        known
            .iter()
            .any(|start| takes.starts_with(start))
            .then(|| Row { flag: flag.to_owned(), takes: takes.to_owned() })
    });
    let rows: Vec<_> = rows.filter(|row| !row.flag.contains('`')).collect();
    assert!(rows.len() >= 28, "the table is there");
    rows
}

impl Row {
    fn numbers(&self) -> Vec<f64> {
        let words = self.takes.split([' ', ',']).filter_map(|word| word.parse().ok());
        words.collect()
    }

    /// The least, the greatest, and one below and above.
    fn ends(&self) -> (Vec<String>, Vec<String>) {
        let words: Vec<_> = self.takes.split([' ', ',']).filter(|word| word.parse::<f64>().is_ok()).collect();
        let shown = |number: f64| number.to_string();
        if self.takes.contains("four times") {
            let most = 4 * std::thread::available_parallelism().unwrap().get();
            return (
                vec!["1".into(), most.to_string()],
                vec!["0".into(), (most + 1).to_string(), "9999".into()],
            );
        }
        let [least, greatest] = [words[0], words[words.len() - 1]];
        let is_open = self.takes.starts_with("a number above");
        let first_valid = if is_open { "0.001" } else { least };
        let valid = vec![first_valid.to_owned(), greatest.to_owned()];
        let first = self.numbers()[0];
        let last = greatest.parse::<f64>().unwrap();
        let mut wrong = vec![if is_open { shown(first) } else { shown(first - 1.0) }];
        // What is beyond the greatest of all is no number of 64 bits.
        let beyond = greatest.parse::<u128>().map(|greatest| (greatest + 1).to_string());
        wrong.push(beyond.unwrap_or_else(|_| shown(last + 0.5)));
        (valid, wrong)
    }

    fn key(&self) -> String {
        self.flag.replace('-', "_").to_uppercase()
    }

    fn is_setting(&self) -> bool {
        !self.is_of_index()
            && !self.is_of_keys()
            && !["limit", "prompt", "history", "generate", "together", "repeat", "thinking-budget"]
                .contains(&self.flag.as_str())
    }

    /// Returns whether it is a flag of `keys add`.
    fn is_of_keys(&self) -> bool {
        self.flag.ends_with("-per-minute") || self.flag.ends_with("-per-day")
    }

    /// Returns whether it is a flag of `serve`.
    #[cfg(feature = "pocket")]
    fn is_of_serve(&self) -> bool {
        ["model-memory", "concurrent", "queue", "drain", "snapshots-quota"].contains(&self.flag.as_str())
    }

    /// Returns whether it is a flag of `index add`.
    fn is_of_index(&self) -> bool {
        ["chunk", "overlap", "file-bytes", "every"].contains(&self.flag.as_str())
    }

    /// A command that takes the flag and asks no model, where there is one.
    fn command(&self) -> Vec<&'static str> {
        match self.flag.as_str() {
            "limit" => vec!["conversations"],
            "prompt" | "history" | "generate" | "together" | "repeat" => vec!["bench"],
            "thinking-budget" => vec!["ask"],
            _ if self.is_of_keys() => vec!["keys", "add", "ann"],
            _ if self.is_of_index() => vec!["index", "add", "."],
            _ => vec!["config", "show"],
        }
    }
}

/// Runs the program, which may not take long.
fn run(program: &Program, arguments: &[&str]) -> Ran {
    let begun = Instant::now();
    let ran = program.run(arguments);
    assert!(begun.elapsed() < Duration::from_secs(60), "{arguments:?}");
    assert!(!ran.err.contains("panicked"), "{arguments:?}: {}", ran.err);
    ran
}

#[test]
fn every_number_is_taken_within_its_limits_and_refused_beyond() {
    let program = Program::new();
    // What lists wants a store that is there.
    program.write("talk.jsonl", "{\"messages\": [{\"role\": \"user\", \"content\": \"Hi\"}]}\n");
    program.run(&["import", "talk.jsonl", "--from", "openai"]).ok();
    for row in rows() {
        let (valid, wrong) = row.ends();
        let flag = |value: &str| format!("--{}={value}", row.flag);
        for value in valid.iter().filter(|_| row.is_setting() || row.flag == "limit") {
            let ran = run(&program, &[&row.command()[..], &[&flag(value)]].concat());
            assert_eq!(ran.code, Some(0), "{}: {ran:?}", flag(value));
        }
        let is_seed = row.flag == "seed";
        let wraps = WRAPS.iter().filter(|value| !(is_seed && **value == WRAPS[0]));
        let refused = wrong.iter().map(String::as_str).chain(NONSENSE).chain(wraps.copied());
        for value in refused.filter(|value| !(row.takes.contains("from -") && *value == "-1")) {
            let ran = run(&program, &[&row.command()[..], &[&flag(value)]].concat());
            assert_eq!((ran.code, ran.out.as_str()), (Some(2), ""), "{}: {ran:?}", flag(value));
            let names = ran.err.contains(&format!("--{}", row.flag)) && ran.err.contains("expected ");
            assert!(names || value.is_empty(), "{}: {}", flag(value), ran.err);
        }
    }
}

#[test]
fn variables_and_keys_have_the_same_limits() {
    for row in rows().into_iter().filter(Row::is_setting) {
        let (valid, wrong) = row.ends();
        for (value, code) in [(&valid[1], 0), (&wrong[0], 2), (&wrong[1], 2)] {
            let program = Program::new().variable(&format!("ALLOQUY_{}", row.key()), value);
            let ran = run(&program, &["config", "show"]);
            assert_eq!(ran.code, Some(code), "{} {value}: {ran:?}", row.key());
        }
        let program = Program::new();
        // Whole numbers of TOML have 63 bits.
        let greatest =
            valid[1].parse().map_or(valid[1].clone(), |most: u64| most.min(i64::MAX as u64).to_string());
        for (value, is_valid) in [
            (valid[0].as_str(), true),
            (&greatest, true),
            (&wrong[0], false),
            ("nan", false),
            ("-inf", false),
        ] {
            program.write("config.toml", &format!("{} = {value}\n", row.flag));
            let ran = run(&program, &["--config", "config.toml", "config", "show"]);
            assert_eq!(ran.code, Some(if is_valid { 0 } else { 1 }), "{} = {value}: {ran:?}", row.flag);
            assert!(is_valid || ran.out.contains(&format!("key {:?} is ", row.flag)), "{ran:?}");
        }
    }
}

#[test]
fn a_bias_is_a_token_and_a_number() {
    let program = Program::new();
    for good in ["0=0", "4294967295=-1000000", "7=1e6"] {
        run(&program, &["config", "show", "--logit-bias", good]).ok();
    }
    for bad in
        ["1", "=", "-1=0", "4294967296=0", "1=nan", "1=inf", "1=1000001", "9223372036854775808=0", "1=1e39"]
    {
        let ran = run(&program, &["config", "show", "--logit-bias", bad]);
        assert_eq!(ran.code, Some(2), "{bad}: {ran:?}");
    }
}

/// What is accepted is also computed with: no hang, no panic, no wrapping.
#[cfg(feature = "pocket")]
#[test]
fn answers_are_written_with_every_number_at_its_ends() {
    let program = Program::new();
    program.write("tea.txt", "Tea is grown in Assam.");
    run(&program, &["index", "add", "tea.txt"]).ok();
    let skipped = [
        "max-tokens",
        "limit",
        "prompt",
        "history",
        "generate",
        "together",
        "repeat",
        "tool-rounds",
        "tool-timeout",
        "resume-quota",
    ];
    for row in rows() {
        let is_of_another = row.is_of_index() || row.is_of_keys() || row.is_of_serve();
        if is_of_another || skipped.contains(&row.flag.as_str()) {
            continue;
        }
        for value in row.ends().0 {
            let flag = format!("--{}={value}", row.flag);
            let arguments = ["ask", "-q", "--documents", "--memory", "--max-tokens", "4", &flag, "Hello!"];
            let ran = run(&program, &arguments);
            assert_eq!(ran.code, Some(0), "{flag}: {ran:?}");
        }
    }
    // The context ends an answer that nothing else does; none at all is an answer too.
    for most in ["0", "4294967295"] {
        run(&program, &["ask", "-q", "--max-tokens", most, "Hello!"]).ok();
    }
}

#[test]
fn a_benchmark_that_does_not_fit_says_so() {
    if !cfg!(feature = "pocket") {
        return;
    }
    let ran = run(
        &Program::new(),
        &["bench", "-q", "--prompt", "10000000", "--generate", "10000000", "--together", "1024"],
    );
    assert_eq!(ran.code, Some(1));
    let expected = "a prompt of 10000000 and a reply of 10000000 do not fit into the context of 2048";
    assert!(ran.err.contains(expected), "{}", ran.err);
}
