//! Guards on the command line: nothing that they remove is printed or read by the model, and limits refuse calls.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)] // a test may panic

mod program;
#[allow(dead_code)] // each test file uses its part
mod shared;

use program::{Program, Ran};

/// An answer with an address and a card in it.
const ANSWER: &str = "Write to ann@example.org or pay with 4111 1111 1111 1111 today.";

/// The same, redacted.
const REDACTED: &str = "Write to [email] or pay with [card] today.";

/// Arguments with which the built-in model answers with [`ANSWER`], whatever it is asked.
const ANSWERING: [&str; 5] = ["--thinking-budget", "1", "--choice", ANSWER, "--max-tokens"];

fn answering<'a>(command: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    [&[command][..], &ANSWERING, &["80"], more].concat()
}

/// Checks that no part of a secret was printed, on either stream.
#[track_caller]
fn assert_hidden(ran: &Ran) {
    for secret in ["ann@", "example.org", "4111"] {
        assert!(!ran.out.contains(secret) && !ran.err.contains(secret), "{secret}: {ran:?}");
    }
}

/// Joins the texts of events.
fn text(ran: &Ran) -> String {
    let events = ran.events();
    let texts = events.iter().filter(|event| event["event"] == "text");
    texts.map(|event| event["text"].as_str().unwrap()).collect()
}

#[cfg(feature = "pocket")]
#[test]
fn answers_are_redacted_while_they_stream() {
    let program = Program::new();
    assert_eq!(program.run(&answering("ask", &["Hello"])).ok().out, format!("{ANSWER}\n"));
    let ran = program.run(&answering("ask", &["--guard", "redact:email,card", "Hello"])).ok();
    assert_eq!(ran.out, format!("{REDACTED}\n"));
    assert_hidden(&ran);
    assert!(ran.err.contains("(guards removed 2 places from the answer: card 1, email 1)"), "{}", ran.err);

    let ran = program.run(&answering("ask", &["--json", "--guard", "redact", "Hello"])).ok();
    assert_hidden(&ran);
    assert_eq!(text(&ran), REDACTED);
    let deltas = ran.events().iter().filter(|event| event["event"] == "text").count();
    assert!(deltas > 5, "it streams: {}", ran.out);
    let done = ran.events().pop().unwrap();
    assert_eq!(done["facts"]["alloquy.redaction"], serde_json::json!({"card": 1, "email": 1}));

    let quiet = program.run(&answering("ask", &["-q", "--guard", "redact", "Hello"])).ok();
    assert_eq!((quiet.out.as_str(), quiet.err.as_str()), (&*format!("{REDACTED}\n"), ""));
    let likely =
        program.run(&answering("ask", &["--logprobs", "1", "-vv", "--guard", "redact", "Hello"])).ok();
    assert_hidden(&likely);
}

#[cfg(feature = "pocket")]
#[test]
fn strategies_and_words_replace_what_is_found() {
    let program = Program::new();
    program.write("words.txt", "today\n\npay with\n");
    for (guard, expected) in [
        ("redact:card=mask4", "Write to ann@example.org or pay with **** **** **** 1111 today."),
        ("redact:email=remove;redact:card=mask", "Write to  or pay with **** **** **** **** today."),
        ("redact:words=words.txt", "Write to ann@example.org or [words] 4111 1111 1111 1111 [words]."),
        ("none", ANSWER),
    ] {
        let ran = program.run(&answering("ask", &["-q", "--guard", guard, "Hello"])).ok();
        assert_eq!(ran.out, format!("{expected}\n"), "{guard}");
    }
    let blocked = program.run(&answering("ask", &["--guard", "redact:email=block", "Hello"]));
    assert_eq!(blocked.code, Some(1));
    assert!(!blocked.out.contains("ann@") && blocked.errors()[0].contains("\"email\""), "{blocked:?}");
}

#[cfg(feature = "pocket")]
#[test]
fn a_chat_and_a_completion_are_redacted_too() {
    let program = Program::new();
    let arguments = answering("chat", &["--conversation", "tea", "--guard", "redact"]);
    let ran = program.run_with(&arguments, "Hello\n/history\n/retry\n").ok();
    assert_hidden(&ran);
    assert_eq!(ran.out.matches(REDACTED).count(), 3, "{}", ran.out);
    // What is stored is what was shown.
    let stored = program.run(&["history", "--conversation", "tea"]).ok();
    assert_hidden(&stored);

    let completed =
        program.run(&["complete", "--choice", ANSWER, "--max-tokens", "80", "--guard", "redact", "Once"]);
    assert_hidden(&completed);
    assert_eq!(completed.ok().out, REDACTED);
}

#[cfg(feature = "pocket")]
#[test]
fn the_model_reads_no_secret_and_the_store_keeps_the_question() {
    let program = Program::new();
    let question = "My card is 4111 1111 1111 1111.";
    let arguments = ["ask", "--conversation", "tea", "--max-tokens", "8", "--guard", "redact:card", question];
    let ran = program.run(&arguments).ok();
    assert!(ran.err.contains("(guards removed 1 place from what the model read: card 1)"), "{}", ran.err);
    assert!(program.run(&["history", "--conversation", "tea"]).ok().out.contains(question));
    // What a turn would send, for a new message and for a stored one.
    let rendered = program.run(&["render", "--guard", "redact:card", question]).ok();
    assert!(
        rendered.out.contains("My card is [card].") && !rendered.out.contains("4111"),
        "{}",
        rendered.out
    );
    let stored = program.run(&["render", "--conversation", "tea", "--guard", "redact:card"]).ok();
    assert!(stored.out.contains("My card is [card].") && !stored.out.contains("4111"), "{}", stored.out);
    // A guard that blocks refuses the question before the model reads it.
    let refused = program.run(&["ask", "--guard", "redact:card=block", question]);
    assert_eq!(refused.code, Some(1));
    assert!(refused.errors()[0].contains("the text contains \"card\""), "{refused:?}");
}

/// The policy for a full context is inside of the guards: it shortens the redacted messages, and its summary is redacted.
#[cfg(feature = "pocket")]
#[test]
fn a_conversation_that_is_longer_than_the_context_is_redacted() {
    let program = Program::new();
    let long = format!("My card is 4111 1111 1111 1111. {}", "tea ".repeat(700));
    let messages: Vec<_> = (0..4)
        .flat_map(|_| {
            [
                serde_json::json!({"role": "user", "content": long}),
                serde_json::json!({"role": "assistant", "content": "Yes."}),
            ]
        })
        .collect();
    program.write("talk.jsonl", &format!("{}\n", serde_json::json!({"messages": messages})));
    let id = program.run(&["import", "talk.jsonl", "--from", "openai"]).ok().out.trim().to_owned();
    for policy in ["drop", "shift", "summarise"] {
        let ran = program
            .run(&[
                "ask",
                "--conversation",
                &id,
                "--context-policy",
                policy,
                "--guard",
                "redact",
                "--max-tokens",
                "8",
                "Hi",
            ])
            .ok();
        assert!(!ran.out.contains("4111") && !ran.err.contains("4111"), "{policy}: {ran:?}");
        let removed = "places from what the model read: card ";
        assert!(ran.err.contains("early messages") && ran.err.contains(removed), "{policy}: {}", ran.err);
        // A budget counts no more than the model reads.
        let limits = ["--limit", "tokens=2100/turn"];
        let asked = ["ask", "--conversation", &id, "--context-policy", policy, "--max-tokens", "8", "Hi"];
        program.run(&[&asked[..], &limits].concat()).ok();
    }
}

#[cfg(feature = "pocket")]
#[test]
fn limits_refuse_calls_with_a_message() {
    let program = Program::new();
    let asked = |limit: &str| program.run(&["ask", "-q", "--max-tokens", "4", "--limit", limit, "Hello"]);
    let refused = asked("tokens=3");
    assert_eq!((refused.code, refused.out.as_str()), (Some(1), ""));
    let error = refused.errors()[0];
    assert!(error.starts_with("error: the budget of 3 tokens of a conversation is used up"), "{error}");
    asked("tokens=1000").ok();
    asked("tokens=1000/turn").ok();

    // A rate counts the calls of all runs.
    asked("rate=1/day").ok();
    let refused = asked("rate=1/day");
    assert_eq!(refused.code, Some(1));
    assert!(refused.errors()[0].contains("the limit of calls is reached: try again after 86"), "{refused:?}");

    // So does a budget of a day, with what was really used.
    asked("tokens=300/day").ok();
    let mut runs = 1;
    let refused = loop {
        let ran = asked("tokens=300/day");
        if ran.code != Some(0) {
            break ran;
        }
        runs += 1;
        assert!(runs < 100, "{ran:?}");
    };
    let error = refused.errors()[0];
    assert!(error.contains("the budget of 300 tokens a day of all calls is used up"), "{error}");
    assert!(error.contains("try again after"), "{error}");

    // What cannot be counted is refused.
    let file = program.path("alloquy").join("limits.db");
    std::fs::write(&file, "this is no database").unwrap();
    let refused = asked("rate=5/s");
    assert!(refused.code == Some(1) && refused.errors()[0].contains("so the call is refused"), "{refused:?}");
}

#[cfg(feature = "pocket")]
#[test]
fn a_stored_conversation_has_one_budget_in_all_runs() {
    let program = Program::new();
    let asked = |conversation: &str| {
        program.run(&[
            "ask",
            "-q",
            "--conversation",
            conversation,
            "--max-tokens",
            "4",
            "--limit",
            "tokens=120",
            "Hello",
        ])
    };
    let mut runs = 0;
    while asked("tea").code == Some(0) {
        runs += 1;
        assert!(runs < 20);
    }
    assert!(runs > 0);
    assert!(asked("tea").errors()[0].contains("the budget of 120 tokens of a conversation is used up"));
    asked("coffee").ok();
    // Within a chat the budget ends the chat.
    let lines = "Hello\n".repeat(30);
    let chat = ["chat", "-q", "--conversation", "cocoa", "--max-tokens", "4", "--limit", "tokens=200"];
    let ran = program.run_with(&chat, &lines);
    assert_eq!(ran.code, Some(1));
    assert!(ran.errors()[0].contains("the budget of 200 tokens"), "{ran:?}");
}

#[cfg(feature = "pocket")]
#[test]
fn a_cost_needs_a_price() {
    let program = Program::new();
    let asked = |more: &[&str]| program.run(&[&["ask", "-q", "--max-tokens", "4", "Hello"], more].concat());
    let unpriced = asked(&["--limit", "cost=1"]);
    assert!(unpriced.code == Some(1) && unpriced.errors()[0].contains("has no price"), "{unpriced:?}");
    program.write(
        "prices.toml",
        "currency = \"EUR\"\n[[prices]]\nmodels = [\"pocket\"]\ninput = \"1000000\"\noutput = \"1000000\"\n",
    );
    let refused = asked(&["--limit", "cost=1", "--prices", "prices.toml"]);
    assert!(refused.errors()[0].contains("the budget of 1 EUR of a conversation is used up"), "{refused:?}");
    asked(&["--limit", "cost=1000/turn", "--prices", "prices.toml"]).ok();
}

#[cfg(feature = "pocket")]
#[test]
fn the_file_and_the_variable_set_guards_and_a_flag_wins() {
    let program = Program::new();
    program.write("config.toml", "guards = [\"redact:email,card\"]\nlimits = [\"tokens=1000\"]\n");
    let with_file = ["--config", "config.toml", "Hello"];
    assert_hidden(&program.run(&answering("ask", &with_file)).ok());
    let off = program.run(&answering("ask", &["--config", "config.toml", "--guard", "none", "Hello"])).ok();
    assert!(off.out.contains("ann@example.org"), "{off:?}");
    let refused =
        program.run(&answering("ask", &["--config", "config.toml", "--limit", "tokens=1", "Hello"]));
    assert_eq!(refused.code, Some(1), "{refused:?}");

    let program = Program::new().variable("ALLOQUY_GUARD", "redact:email;redact:card");
    let program = program.variable("ALLOQUY_LIMITS", "tokens=5/turn");
    let refused = program.run(&answering("ask", &["Hello"]));
    assert!(refused.errors()[0].contains("5 tokens a turn"), "{refused:?}");
    assert_hidden(&program.run(&answering("ask", &["--limit", "none", "Hello"])).ok());
    // The variable of `conversations --limit` is another one.
    let listed = Program::new().variable("ALLOQUY_LIMIT", "7").run(&answering("ask", &["-q", "Hello"]));
    listed.ok();
}

#[test]
fn what_is_wrong_is_refused_before_a_model_is_loaded() {
    let program = Program::new();
    for (flag, value, valid) in [
        ("--guard", "hide", "one of: redact, redact:KIND,KIND, none"),
        ("--guard", "redact:mail", "one of: email, card, iban, key, phone, words=FILE"),
        ("--guard", "redact:email=star", "one of: name, mask, mask4"),
        ("--limit", "token=5", "write tokens=N, cost=X"),
        ("--limit", "tokens=-5", "a whole number from 1 to"),
        ("--limit", "tokens=5/week", "one of: turn, conversation, day"),
        ("--limit", "cost=free", "a number from 0 to"),
        ("--limit", "rate=10", "one of: s, min, h, day"),
    ] {
        for command in ["ask", "chat", "complete", "guards"] {
            let ran = program.run(&[command, "--model", "/nowhere", flag, value]);
            // `guards` has no model.
            let arguments = [command, flag, value];
            let ran = if command == "guards" { program.run(&arguments) } else { ran };
            assert_eq!((ran.code, ran.out.as_str()), (Some(2), ""), "{command} {value}: {ran:?}");
            assert!(ran.err.contains(value) && ran.err.contains(valid), "{command} {value}: {}", ran.err);
        }
    }
    let twice = program.run(&["ask", "--limit", "tokens=5,tokens=6", "Hello"]);
    assert!(twice.code == Some(2) && twice.err.contains("limit the same"), "{twice:?}");
    let missing = program.run(&["ask", "--guard", "redact:words=none.txt", "Hello"]);
    assert!(
        missing.code == Some(1) && missing.errors()[0].contains("list of words \"none.txt\""),
        "{missing:?}"
    );
    // In a file, as with every other key.
    program.write("config.toml", "guards = [\"redact:mail\"]\n");
    let ran = program.run(&["--config", "config.toml", "ask", "Hello"]);
    assert!(
        ran.code == Some(1) && ran.err.contains("\"redact:mail\"") && ran.err.contains("one of: email"),
        "{ran:?}"
    );
    program.write("config.toml", "guard = [\"redact\"]\n");
    let ran = program.run(&["--config", "config.toml", "ask", "Hello"]);
    assert!(ran.err.contains("did you mean \"guards\"?"), "{ran:?}");
}

#[test]
fn the_command_shows_what_is_in_force_and_redacts_a_text() {
    let program = Program::new().variable("ALLOQUY_LIMITS", "tokens=2000,rate=10/min");
    program.write("config.toml", "guards = [\"redact:card=mask4,email\"]\n");
    let file = ["guards", "--config", "config.toml"];
    insta::assert_snapshot!(program.run(&file).ok().out);
    let shown = program.run(&[&file[..], &["--json"]].concat()).ok().events().remove(0);
    let guards = serde_json::json!([
        {"guard": "redact:card=mask4", "origin": "file"}, {"guard": "redact:email", "origin": "file"}
    ]);
    assert_eq!(shown["guards"], guards);
    assert_eq!(shown["limits"][1], serde_json::json!({"limit": "rate=10/min", "origin": "environment"}));

    let ran = program.run(&[&file[..], &[ANSWER]].concat()).ok();
    assert_eq!(ran.out, "Write to [email] or pay with **** **** **** 1111 today.\n");
    assert_eq!(ran.err, "(guards removed 2 places from this text: card 1, email 1)\n");
    let piped = program.run_with(&["guards", "--guard", "redact", "-"], "Call +49 30 123456.\r\nBye").ok();
    assert_eq!(piped.out, "Call [phone].\r\nBye");
    let json =
        program.run_with(&["guards", "--guard", "redact", "--json", "-"], ANSWER).ok().events().remove(0);
    assert_eq!((&json["text"], &json["removed"]["card"]), (&REDACTED.into(), &1.into()));
    let clean = program.run(&["guards", "--guard", "redact", "Hello"]).ok();
    assert_eq!(
        (clean.out.as_str(), clean.err.as_str()),
        ("Hello\n", "(guards removed nothing from this text)\n")
    );

    // Without a guard, nothing is printed as if it were redacted.
    let none = program.run(&["guards", ANSWER]);
    assert_eq!((none.code, none.out.as_str()), (Some(2), ""));
    let blocked = program.run(&["guards", "--guard", "redact:email=block", ANSWER]);
    assert!(blocked.code == Some(1) && blocked.out.is_empty(), "{blocked:?}");
    let empty = Program::new().run(&["guards"]).ok();
    assert!(empty.out.is_empty() && empty.err.contains("no guard is set"), "{empty:?}");
}

/// A server whose tool returns an address and a card.
#[cfg(feature = "mcp")]
const SERVER: &str = r#"
import json, sys
found = {"content": [{"type": "text", "text": "ann@example.org has 4111 1111 1111 1111"}]}
answers = {
    "initialize": {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}, "serverInfo": {"name": "people", "version": "1"}},
    "tools/list": {"tools": [{"name": "find", "description": "Finds people", "inputSchema": {"type": "object", "properties": {}}}]},
    "tools/call": found,
}
for line in sys.stdin:
    asked = json.loads(line)
    if "id" in asked:
        print(json.dumps({"jsonrpc": "2.0", "id": asked["id"], "result": answers[asked["method"]]}), flush=True)
"#;

#[cfg(all(feature = "mcp", feature = "pocket"))]
#[test]
fn what_a_tool_returns_is_neither_printed_nor_read_by_the_model() {
    if std::process::Command::new("python3").arg("--version").output().is_err() {
        eprintln!("Skipping: there is no python3");
        return;
    }
    let program = Program::new();
    program.write("server.py", SERVER);
    let asked = [
        "ask",
        "--mcp",
        "python3 server.py",
        "--approve",
        "always",
        "--tool-choice",
        "find",
        "--tool-rounds",
        "1",
        "--max-tokens",
        "40",
        "--guard",
        "redact",
    ];
    for more in [&["Who?"][..], &["--json", "Who?"]] {
        let ran = program.run(&[&asked[..], more].concat()).ok();
        assert_hidden(&ran);
        assert!(ran.out.contains("[email] has [card]") || ran.err.contains("[email] has [card]"), "{ran:?}");
    }
}
