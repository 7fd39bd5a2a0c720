//! The server and its keys on the command line.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)] // a test may panic

mod program;
#[allow(dead_code)] // each test file uses its part
mod shared;

use program::Program;
use serde_json::Value;

#[test]
fn keys_are_added_listed_and_revoked() {
    let program = Program::new();
    assert!(program.run(&["keys", "list"]).ok().err.contains("alloquy keys add OWNER"));
    let added = program.run(&["keys", "add", "ann", "--calls-per-minute", "30"]).ok();
    assert!(added.out.starts_with("alq_") && added.out.trim_end().len() == 68, "{added:?}");
    program.run(&["keys", "add", "bob", "--tokens-per-day", "1000", "--concurrent", "2"]).ok();
    let listed = program.run(&["keys", "list"]).ok().out;
    assert!(listed.contains("ann") && listed.contains("30 calls/min"), "{listed}");
    assert!(listed.contains("1000 tokens/day, 2 at once"), "{listed}");
    assert!(!listed.contains(added.out.trim_end()));

    let json: Value = program.run(&["keys", "list", "--json"]).ok().events().remove(0);
    let id = json["keys"][0]["id"].as_str().unwrap();
    program.run(&["keys", "revoke", id]).ok();
    let json: Value = program.run(&["keys", "list", "--json"]).ok().events().remove(0);
    assert!(json["keys"][0]["revoked"].is_number() && json["keys"][1]["revoked"].is_null(), "{json}");
    let wrong = program.run(&["keys", "revoke", "key_0"]);
    assert_eq!(wrong.code, Some(1));
    assert!(wrong.err.contains("alloquy keys list"), "{}", wrong.err);
}

#[cfg(feature = "pocket")]
#[test]
fn what_would_not_work_is_found_without_serving() {
    let program = Program::new();
    let checked = program.run(&["serve", "--check"]).ok().out;
    assert!(
        checked.contains("address: http://127.0.0.1:8080/v1") && checked.contains("model pocket: "),
        "{checked}"
    );
    program.run(&["serve", "--check", "--embedding", "words=ngrams"]).ok();
    program.run(&["serve", "--check", "--snapshots", "snapshots"]).ok();
    assert!(!program.path("snapshots").exists(), "a check creates nothing");
    program.write("file.txt", "");
    let cases: [(&[&str], i32, &str); 15] = [
        (&["--reranker", "rank=no/such/model"], 1, "there is no folder"),
        (&["--embedding", "words=no/such/model"], 1, "is no embedder"),
        (&["--embedding", "words=none"], 1, "has no vectors"),
        (&["--model", "tea=no/such/model"], 1, "tea"),
        (&["--model", "tea="], 1, "NAME=MODEL"),
        (&["--model", "pocket", "--model", "pocket"], 1, "two models have the name"),
        (&["--bind", "0.0.0.0:8080"], 1, "alloquy keys add OWNER"),
        (&["--bind", "tea"], 2, "\"tea\" is neither an address with a port"),
        (&["--port", "70000"], 2, "--bind"),
        (&["--origin", "chat.example.org"], 1, "is not an origin"),
        (&["--keys", "no/keys.json"], 1, "alloquy keys add"),
        (&["--snapshots", "sqlite:chats.db"], 1, "--snapshots"),
        (&["--snapshots", "file.txt"], 1, "is a file"),
        (&["--serve-mcp", "uvx mcp-server-time"], 1, "LABEL=COMMAND"),
        (
            &["--serve-mcp", "a=uvx b", "--serve-mcp-url", "a=http://localhost/mcp"],
            1,
            "another server has the label",
        ),
    ];
    for (arguments, code, words) in cases {
        let ran = program.run(&[&["serve", "--check"], arguments].concat());
        assert_eq!(ran.code, Some(code), "{arguments:?}: {}", ran.err);
        assert!(ran.err.contains(words), "{arguments:?}: {}", ran.err);
    }
    program.run(&["keys", "add", "ann"]).ok();
    program.run(&["serve", "--check", "--bind", "0.0.0.0:8080"]).ok();
}

#[cfg(all(feature = "pocket", unix))]
mod serving {
    use std::io::{BufRead as _, BufReader, Read as _, Write as _};
    use std::net::TcpStream;
    use std::process::{Child, ChildStderr};

    use nix::sys::signal::{Signal, kill};
    use nix::unistd::Pid;

    use super::*;

    /// Starts the server at a free port, and returns the port once it listens.
    fn start(program: &Program) -> (Child, u16) {
        let mut child = program.spawn(&["serve", "--port", "0"]);
        let port = port_of(child.stderr.take().unwrap());
        (child, port)
    }

    fn port_of(errors: ChildStderr) -> u16 {
        for line in BufReader::new(errors).lines() {
            let line = line.unwrap();
            if let Some((_, rest)) = line.split_once("serving at http://127.0.0.1:") {
                return rest.split('/').next().unwrap().parse().unwrap();
            }
        }
        panic!("the server did not start");
    }

    fn ask(port: u16, key: &str) -> String {
        let body = r#"{"messages": [{"role": "user", "content": "What is the capital of Norway?"}], "store": true, "max_tokens": 8}"#;
        post(port, key, "/v1/chat/completions", body)
    }

    fn post(port: u16, key: &str, path: &str, body: &str) -> String {
        let mut stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
        let head = format!(
            "POST {path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\nauthorization: Bearer {key}\r\n\
             content-type: application/json\r\ncontent-length: {}\r\n\r\n",
            body.len()
        );
        stream.write_all((head + body).as_bytes()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer
    }

    #[test]
    fn the_built_in_model_answers_what_open_responses_asks() {
        let program = Program::new();
        let (mut child, port) = start(&program);
        let bodies = [
            r#"{"input": [{"type": "message", "role": "user", "content": "What is the capital of Norway?"}]}"#,
            r#"{"input": [{"type": "message", "role": "system", "content": "Be brief."}, {"type": "message", "role": "user", "content": "Hello!"}]}"#,
            r#"{"input": [{"type": "message", "role": "user", "content": "I am Ann."}, {"type": "message", "role": "assistant", "content": "Hello, Ann."}, {"type": "message", "role": "user", "content": "What is 2 plus 3?"}]}"#,
            r#"{"input": "Count from 1 to 5.", "stream": true}"#,
        ];
        for body in bodies {
            let answer = post(port, "", "/v1/responses", body);
            assert!(answer.starts_with("HTTP/1.1 200"), "{body}: {answer}");
            assert!(answer.contains(r#""status":"completed""#), "{body}: {answer}");
            assert!(answer.contains(r#""type":"output_text""#), "{body}: {answer}");
        }
        child.kill().unwrap();
        child.wait().unwrap();
    }

    /// A server of tools in a few lines of Python, which needs no package. It writes each call to a file.
    #[cfg(feature = "mcp")]
    const SKY: &str = r#"
import json, sys
schema = {"type": "object", "properties": {"windy": {"type": "boolean"}}, "required": ["windy"]}
answers = {
    "initialize": {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}, "serverInfo": {"name": "sky", "version": "1"}},
    "tools/list": {"tools": [{"name": "weather", "description": "Returns the weather", "inputSchema": schema}]},
    "tools/call": {"content": [{"type": "text", "text": "It snows."}]},
}
for line in sys.stdin:
    asked = json.loads(line)
    if asked["method"] == "tools/call":
        open("calls", "a").write("x")
    if "id" in asked:
        print(json.dumps({"jsonrpc": "2.0", "id": asked["id"], "result": answers[asked["method"]]}), flush=True)
"#;

    #[cfg(feature = "mcp")]
    #[test]
    fn a_request_names_the_tools_of_a_server_and_approves_a_call_once() {
        if std::process::Command::new("python3").arg("--version").output().is_err() {
            eprintln!("Skipping: there is no python3");
            return;
        }
        let program = Program::new();
        program.write("sky.py", SKY);
        let served = ["serve", "--bind", "127.0.0.1:0", "--serve-mcp", "sky=python3 sky.py"];
        let mut child = program.spawn(&served);
        let port = port_of(child.stderr.take().unwrap());
        let json = |answer: String| -> Value {
            let (_, body) = answer.split_once("\r\n\r\n").unwrap();
            serde_json::from_str(body).unwrap_or_else(|error| panic!("{error}: {answer}"))
        };
        let tools = r#""tools": [{"type": "mcp", "server_label": "sky"}]"#;
        let body = format!(r#"{{"input": "How is the weather?", "tool_choice": "required", {tools}}}"#);
        let asked = json(post(port, "", "/v1/responses", &body));
        assert_eq!(asked["output"][0]["tools"][0]["name"], "weather", "{asked}");
        let request = &asked["output"][1];
        assert_eq!(request["type"], "mcp_approval_request", "{asked}");
        let approval = format!(
            r#"[{{"type": "mcp_approval_response", "approval_request_id": {}, "approve": true}}]"#,
            request["id"]
        );
        let body = format!(
            r#"{{"input": {approval}, "previous_response_id": {}, "tool_choice": "none", "max_output_tokens": 8, {tools}}}"#,
            asked["id"]
        );
        let made = json(post(port, "", "/v1/responses", &body));
        assert_eq!(
            (&made["output"][0]["type"], &made["output"][0]["output"]),
            (&"mcp_call".into(), &"It snows.".into())
        );
        let again = json(post(port, "", "/v1/responses", &body));
        assert_eq!(again["error"]["code"], "approval_already_answered");
        assert_eq!(std::fs::read_to_string(program.path("calls")).unwrap(), "x");
        child.kill().unwrap();
        child.wait().unwrap();
    }

    /// Returns how much of the prompt was cached, as an owner is told.
    fn cached(port: u16, key: &str) -> u64 {
        let answer = ask(port, key);
        let (_, body) = answer.split_once("\r\n\r\n").unwrap();
        let body: Value = serde_json::from_str(body).unwrap_or_else(|error| panic!("{error}: {answer}"));
        body["usage"]["prompt_tokens_details"]["cached_tokens"].as_u64().unwrap()
    }

    #[test]
    fn an_owner_does_not_see_what_another_one_has_cached_unless_they_share() {
        for is_shared in [false, true] {
            let program = Program::new();
            let mut keys = Vec::new();
            for owner in ["ann", "bob"] {
                keys.push(program.run(&["keys", "add", owner]).ok().out.trim_end().to_owned());
            }
            let flags: &[&str] = if is_shared { &["--share-cache"] } else { &[] };
            let mut child = program.spawn(&[&["serve", "--bind", "127.0.0.1:0"], flags].concat());
            let port = port_of(child.stderr.take().unwrap());
            assert_eq!(cached(port, &keys[0]), 0);
            assert!(cached(port, &keys[0]) > 0);
            assert_eq!(cached(port, &keys[1]) > 0, is_shared);
            assert!(cached(port, &keys[1]) > 0);
            child.kill().unwrap();
            child.wait().unwrap();
        }
    }

    /// Starts a server with a place of snapshots, sends a turn, ends the server, and returns the turn.
    fn turn_of_one_run(program: &Program, text: &str) -> Value {
        let mut child = program.spawn(&["serve", "--bind", "127.0.0.1:0", "--snapshots", "snapshots"]);
        let port = port_of(child.stderr.take().unwrap());
        post(port, "", "/v1/alloquy/conversations", r#"{"name": "talk"}"#);
        let body = format!(r#"{{"text": "{text}", "sampling": {{"temperature": 0, "max_tokens": 16}}}}"#);
        let answer = post(port, "", "/v1/alloquy/conversations/talk/turns", &body);
        kill(Pid::from_raw(i32::try_from(child.id()).unwrap()), Signal::SIGTERM).unwrap();
        assert_eq!(child.wait().unwrap().code(), Some(0));
        let (_, body) = answer.split_once("\r\n\r\n").unwrap();
        serde_json::from_str(body).unwrap_or_else(|error| panic!("{error}: {answer}"))
    }

    #[test]
    fn a_server_continues_after_a_restart_from_what_the_last_one_has_computed() {
        let program = Program::new();
        let first = turn_of_one_run(&program, "What is the capital of Norway?");
        let cached = |turn: &Value| turn["usage"]["prompt_tokens_details"]["cached_tokens"].as_u64().unwrap();
        assert_eq!(cached(&first), 0, "{first}");
        let second = turn_of_one_run(&program, "And of Sweden?");
        assert!(cached(&second) > 0, "{second}");
        assert_eq!(second["alloquy"]["facts"]["snapshot"], serde_json::json!({"restored": cached(&second)}));
        let prompt = first["usage"]["prompt_tokens"].as_u64().unwrap();
        assert!(cached(&second) > prompt, "with the reply: {first} {second}");
    }

    #[test]
    fn a_second_ctrl_c_ends_it_at_once() {
        let program = Program::new();
        let mut child = program.spawn(&["serve", "--bind", "127.0.0.1:0", "--drain", "60"]);
        let mut errors = BufReader::new(child.stderr.take().unwrap());
        let mut text = String::new();
        while !text.contains("serving at") {
            assert!(errors.read_line(&mut text).unwrap() > 0, "{text}");
        }
        let port: u16 = text.split_once("127.0.0.1:").unwrap().1.split('/').next().unwrap().parse().unwrap();
        let body = r#"{"messages": [{"role": "user", "content": "Write a long story."}], "stream": true}"#;
        let head = format!(
            "POST /v1/chat/completions HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n{}",
            body.len() + 1,
            body
        );
        // Its body does not end, so it still runs.
        let mut stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
        stream.write_all(head.as_bytes()).unwrap();
        std::thread::sleep(std::time::Duration::from_millis(200));
        let pid = Pid::from_raw(i32::try_from(child.id()).unwrap());
        kill(pid, Signal::SIGINT).unwrap();
        while !text.contains("Ctrl-C again") {
            assert!(errors.read_line(&mut text).unwrap() > 0, "{text}");
        }
        kill(pid, Signal::SIGINT).unwrap();
        assert_eq!(child.wait().unwrap().code(), Some(130));
        errors.read_to_string(&mut text).unwrap();
        assert!(text.contains("at once"), "{text}");
    }

    #[test]
    fn models_are_read_again() {
        let program = Program::new();
        program.write("config.toml", "serve-models = [\"tea=pocket\"]\n");
        let mut child = program.spawn(&["serve", "--config", "config.toml", "--bind", "127.0.0.1:0"]);
        let port = port_of(child.stderr.take().unwrap());
        let pid = Pid::from_raw(i32::try_from(child.id()).unwrap());
        assert!(ask(port, "").contains("\"model\":\"tea\""));
        program.write("config.toml", "serve-models = [\"coffee=pocket\", \"tea=pocket\"]\n");
        kill(pid, Signal::SIGHUP).unwrap();
        let replaced = (0..200).any(|_| {
            std::thread::sleep(std::time::Duration::from_millis(20));
            ask(port, "").contains("\"model\":\"coffee\"")
        });
        assert!(replaced, "the models are as they were");
        // What is not valid changes nothing.
        program.write("config.toml", "serve-models = [\"=\"]\n");
        kill(pid, Signal::SIGHUP).unwrap();
        std::thread::sleep(std::time::Duration::from_millis(200));
        assert!(ask(port, "").contains("\"model\":\"coffee\""));
        child.kill().unwrap();
        child.wait().unwrap();
    }

    #[test]
    fn prompts_and_flows_are_read_again() {
        let program = Program::new();
        for folder in ["prompts/user", "flows"] {
            std::fs::create_dir_all(program.path(folder)).unwrap();
        }
        program.write("prompts/user/greet.yaml", "template: Hello {{name}}!\n");
        program.write("flows/order.yaml", "name: order\nstates:\n  thanks: {say: Here you are.}\n");
        let folders = ["--prompts", "prompts", "--flows", "flows"];
        let mut child = program.spawn(&[&["serve", "--bind", "127.0.0.1:0"], &folders[..]].concat());
        let mut errors = BufReader::new(child.stderr.take().unwrap());
        let mut line = String::new();
        while !line.contains("serving at") {
            line.clear();
            assert!(errors.read_line(&mut line).unwrap() > 0);
        }
        let port: u16 = line.split_once("127.0.0.1:").unwrap().1.split('/').next().unwrap().parse().unwrap();
        let pid = Pid::from_raw(i32::try_from(child.id()).unwrap());
        let said = |text: &str| {
            let body = "{}";
            let answer = post(port, "", "/v1/alloquy/flows/order/runs", body);
            assert!(answer.starts_with("HTTP/1.1 201"), "{answer}");
            answer.contains(text)
        };
        let greeting = |text: &str| {
            let body = r#"{"values": {"name": "Ann"}}"#;
            post(port, "", "/v1/alloquy/prompts/user/greet/render", body).contains(text)
        };
        assert!(said("Here you are.") && greeting("Hello Ann!"));
        program.write("prompts/user/greet.yaml", "template: Good day {{name}}!\n");
        program.write("flows/order.yaml", "name: order\nstates:\n  thanks: {say: With pleasure.}\n");
        kill(pid, Signal::SIGHUP).unwrap();
        let replaced = (0..200).any(|_| {
            std::thread::sleep(std::time::Duration::from_millis(20));
            said("With pleasure.") && greeting("Good day Ann!")
        });
        assert!(replaced, "the prompts and the flows are as they were");
        // A file with an error changes nothing, and the log names it.
        program.write("prompts/user/greet.yaml", "template: Farewell {{name}}!\n");
        for (path, text, words) in [
            ("flows/order.yaml", "name: order\nstates:\n  a: {say: A., to: nowhere}\n", "nowhere"),
            ("prompts/user/broken.yaml", "template: [\n", "broken.yaml"),
        ] {
            program.write(path, text);
            kill(pid, Signal::SIGHUP).unwrap();
            line.clear();
            while !line.contains(words) {
                assert!(errors.read_line(&mut line).unwrap() > 0, "{line}");
            }
            assert!(said("With pleasure.") && greeting("Good day Ann!"));
            program.write("flows/order.yaml", "name: order\nstates:\n  thanks: {say: With pleasure.}\n");
        }
        child.kill().unwrap();
        child.wait().unwrap();
    }

    #[test]
    fn the_server_answers_reads_keys_again_and_ends() {
        let program = Program::new();
        let key = program.run(&["keys", "add", "ann"]).ok().out.trim_end().to_owned();
        let (mut child, port) = start(&program);
        let pid = Pid::from_raw(i32::try_from(child.id()).unwrap());
        let answer = ask(port, &key);
        assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
        assert!(answer.contains("\"model\":\"pocket\""), "{answer}");
        assert!(ask(port, "alq_other").starts_with("HTTP/1.1 401"));

        let json: Value = program.run(&["keys", "list", "--json"]).ok().events().remove(0);
        program.run(&["keys", "revoke", json["keys"][0]["id"].as_str().unwrap()]).ok();
        kill(pid, Signal::SIGHUP).unwrap();
        let refused = (0..200).any(|_| {
            std::thread::sleep(std::time::Duration::from_millis(20));
            ask(port, &key).starts_with("HTTP/1.1 401")
        });
        assert!(refused, "the key still opens the server");

        kill(pid, Signal::SIGTERM).unwrap();
        assert_eq!(child.wait().unwrap().code(), Some(0));
        let kept = program.run(&["conversations", "--owner", "ann"]).ok().out;
        assert!(kept.contains("capital of Norway"), "{kept}");
    }
}
