//! `alloquy bench`: every combination is measured and printed, what loading took is, and what cannot be measured is refused.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)] // a test may panic

mod program;
mod shared;

use program::Program;
use serde_json::Value;

#[test]
fn each_prompt_is_measured_alone_and_together() {
    let Some(model) = shared::find("models/stories260k") else { return };
    let program = Program::new().variable("ALLOQUY_MODEL", model);
    let arguments =
        ["bench", "--json", "--prompt", "16,64", "--together", "1,3", "--generate", "8", "--repeat", "1"];
    let printed: Value = serde_json::from_str(&program.run(&arguments).ok().out).unwrap();
    let runs = printed["runs"].as_array().unwrap();
    let shapes: Vec<_> = runs.iter().map(|run| (run["prompt"].as_u64(), run["together"].as_u64())).collect();
    assert_eq!(shapes, [(16, 1), (16, 3), (64, 1), (64, 3)].map(|(prompt, rows)| (Some(prompt), Some(rows))));
    for run in runs {
        assert!(
            run["prefill_rate"].as_f64().unwrap() > 0.0 && run["decode_rate"].as_f64().unwrap() > 0.0,
            "{run}"
        );
        let step = run["step_seconds"].as_f64().unwrap();
        let overhead = run["overhead"].as_f64().unwrap();
        assert!(step > 0.0 && (0.0..1.0).contains(&overhead), "{run}");
    }
    assert!(printed["warm_up_seconds"].as_f64().unwrap() > 0.0, "{printed}");
    assert!(["brief", "sleep"].contains(&printed["waiting"].as_str().unwrap()), "{printed}");
    let phases = printed["load_phases"].as_array().unwrap();
    let names: Vec<_> = phases.iter().map(|phase| phase["phase"].as_str().unwrap()).collect();
    assert_eq!(names, ["files", "tokenizer", "runtime", "identity", "graph", "template", "processor"]);
    let seconds: Vec<_> = phases.iter().map(|phase| phase["seconds"].as_f64().unwrap()).collect();
    assert!(seconds.iter().all(|&seconds| seconds > 0.0), "{printed}");
    let engine: f64 = seconds[..5].iter().sum();
    assert!(engine <= printed["load_seconds"].as_f64().unwrap(), "{printed}");
    let table = program.variable("ALLOQUY_PROMPT", "20").run(&["bench", "--repeat", "1"]).ok().out;
    assert_eq!(table.lines().count(), 14, "{table}");
    assert!(table.contains("\n  tokenizer  "), "{table}");
}

#[test]
fn how_threads_wait_is_told_as_it_is() {
    let Some(model) = shared::find("models/stories260k") else { return };
    let program = Program::new().variable("ALLOQUY_MODEL", model);
    for waiting in ["spin", "sleep"] {
        let arguments = ["bench", "--prompt", "8", "--together", "1", "--repeat", "1", "--waiting", waiting];
        let table = program.run(&arguments).ok().out;
        assert!(table.contains(&format!("threads wait as in --waiting {waiting}\n")), "{table}");
    }
    let unknown = program.run(&["bench", "--waiting", "nap"]);
    assert!(unknown.err.contains("brief, spin, sleep"), "{}", unknown.err);
}

#[test]
fn what_does_not_fit_is_refused() {
    let Some(model) = shared::find("models/stories260k") else { return };
    let program = Program::new().variable("ALLOQUY_MODEL", model);
    let long = program.run(&["bench", "--prompt", "500"]);
    assert!(
        long.err.contains("a prompt of 500 and a reply of 64 do not fit into the context of 512"),
        "{}",
        long.err
    );
    assert_eq!(long.code, Some(1));
    let late = program.run(&["bench", "--prompt", "400", "--history", "100"]);
    assert!(late.err.contains("a reply of 64 after a history of 100 do not fit"), "{}", late.err);
    let none = program.run(&["bench", "--repeat", "0"]);
    assert!(none.err.contains("expected a whole number from 1 to"), "{}", none.err);
}

#[test]
fn drafts_are_measured_on_three_kinds_of_text() {
    let Some(model) = shared::find("models/stories260k") else { return };
    let draft = model.display().to_string();
    let program = Program::new().variable("ALLOQUY_MODEL", model);
    let shape = ["--prompt", "16", "--together", "1", "--generate", "40", "--repeat", "1"];
    let json = [&["bench", "--json", "--draft", &draft], &shape[..]].concat();
    let printed: Value = serde_json::from_str(&program.run(&json).ok().out).unwrap();
    let drafts = printed["drafts"].as_array().unwrap();
    let texts: Vec<_> = drafts.iter().map(|run| run["text"].as_str().unwrap()).collect();
    assert_eq!(texts, ["quoting", "prose", "code"]);
    for run in drafts {
        assert_eq!(run["same_tokens"], true, "{run}");
        assert!(
            run["ratio"].as_f64().unwrap() > 0.0 && run["kept"].as_u64() <= run["guessed"].as_u64(),
            "{run}"
        );
    }
    let table = program.run(&[&["bench", "--draft", &draft], &shape[..]].concat()).ok().out;
    assert!(table.contains("\n  TEXT     TOKENS") && table.contains("\n  quoting"), "{table}");
}
