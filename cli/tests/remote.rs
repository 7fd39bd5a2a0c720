//! Models on servers: `--remote`, `--remote-chat` and `alloquy remote`.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)] // a test may panic

#[path = "../../backends/openai/tests/llama/mod.rs"]
mod llama;
mod program;
mod server;
mod shared;

use std::io::{BufRead as _, BufReader};
use std::path::PathBuf;

use alloquy_testing::HubServer;
use llama::Llama;
use program::{Program, Ran};
use serde_json::{Value, json};
use server::{BREAK, END, ENDLESS, REPLY, Server, Unusual, describe};

const KEY: &str = "sk-0123456789-never-printed";

/// A program with a folder `sea` that has no weights, and the model of a server with its tokenizer.
struct World {
    server: Server,
    program: Program,
}

impl World {
    fn new() -> Self {
        Self::with(Unusual::default())
    }

    fn with(unusual: Unusual) -> Self {
        let server = Server::with(unusual);
        let program = Program::new();
        let folder = describe(&program.path("sea"));
        let program = program.variable("ALLOQUY_REMOTE", &server.url).variable("ALLOQUY_MODEL", folder);
        Self { server, program }
    }

    fn run(&self, arguments: &[&str]) -> Ran {
        self.program.run(arguments)
    }
}

fn tree(program: &Program) -> Value {
    program.run(&["tree", "--json"]).ok().events().remove(0)
}

/// Returns the tokens of a text without control tokens.
fn tokens(text: &str) -> Vec<u64> {
    text.bytes().map(u64::from).collect()
}

#[test]
fn a_server_that_does_not_answer_is_left_to_the_others() {
    let server = Server::start();
    let program = Program::new();
    let folder = describe(&program.path("sea"));
    let addresses = format!("http://127.0.0.1:9,{}", server.url);
    let ran = program.run(&["ask", "--remote", &addresses, "--model", folder.to_str().unwrap(), "Tea?"]).ok();
    assert!(ran.err.contains("http://127.0.0.1:9 is used once it answers"), "{}", ran.err);
    assert_eq!(ran.out, format!("{REPLY}\n"));
}

#[test]
fn a_question_goes_to_the_server_as_tokens() {
    let server = Server::start();
    let program = Program::new();
    let folder = describe(&program.path("sea"));
    let folder = folder.to_str().unwrap();
    let flags = ["ask", "--remote", &server.url, "--model", folder, "Tea?"];
    let ran = program.run(&flags).ok();
    assert_eq!((ran.out.as_str(), ran.err.as_str()), (format!("{REPLY}\n").as_str(), ""));
    let prompt = [vec![257], tokens("Tea?"), vec![END, 258]].concat();
    assert_eq!(server.last_prompt(), prompt);

    let file = format!("remote = {:?}\nmodel = {folder:?}\nremote-dialect = \"llamacpp\"\n", server.url);
    program.write("config.toml", &file);
    let ran = program.run(&["ask", "--config", "config.toml", "Tea? <|end|>"]).ok();
    assert_eq!(ran.out, format!("{REPLY}\n"));
    // What a person writes is no control token.
    let prompt = [vec![257], tokens("Tea? <|end|>"), vec![END, 258]].concat();
    assert_eq!(server.last_prompt(), prompt);
    let shown = program.run(&["config", "show", "--config", "config.toml", "--json"]).ok().events().remove(0);
    assert_eq!(shown["settings"]["remote"], json!({"value": [server.url], "origin": "file"}));
    assert_eq!(shown["settings"]["remote-dialect"]["value"], "llamacpp");
}

#[test]
fn a_second_turn_continues_what_the_server_has_cached() {
    let World { server, program } = World::new();
    let ran = program.run_with(&["chat", "-v"], "Tea?\nMore?\n/model\n").ok();
    assert_eq!(ran.out.matches(REPLY).count(), 2);
    assert!(ran.err.contains("llamacpp b7, model sea"), "{}", ran.err);
    // 7 tokens of the first prompt and 20 of its answer; the end of a turn is in neither.
    assert!(ran.err.contains("(prompt 36: 27 reused + 9 computed"), "{}", ran.err);
    let first = [vec![257], tokens("Tea?"), vec![END, 258], tokens(REPLY)].concat();
    assert!(server.last_prompt().starts_with(&first));
    let ran = program.run(&["ask", "-c", "--json", "Again?"]).ok();
    let done = ran.events().pop().unwrap();
    assert_eq!((&done["event"], &done["cache"]["cached"]), (&"done".into(), &56.into()), "{done}");
    let model = program.run_with(&["chat", "--json"], "/model\n").ok().events().remove(0);
    assert_eq!((&model["context"], &model["remote"]), (&1024.into(), &server.url.as_str().into()), "{model}");
}

#[test]
fn an_answer_that_breaks_off_is_kept_as_far_as_it_came() {
    let world = World::new();
    let ran = world.run(&["ask", "--conversation", "tea", BREAK]);
    assert_eq!((ran.code, ran.out.as_str()), (Some(1), "Six \n"));
    assert!(ran.errors()[0].contains("ended"), "{}", ran.err);
    let shown = tree(&world.program);
    assert_eq!(shown["nodes"][1]["status"], "interrupted");
    assert_eq!(shown["nodes"][1]["message"]["parts"][0]["text"], "Six ");
    let next = world.run(&["ask", "--conversation", "tea", "And then?"]).ok();
    assert_eq!(next.out, format!("{REPLY}\n"));
}

#[cfg(unix)]
#[test]
fn an_interrupt_keeps_the_answer_so_far() {
    use nix::sys::signal::{Signal, kill};
    use nix::unistd::Pid;

    let World { program, .. } = World::new();
    let mut child = program.spawn(&["ask", "--conversation", "tea", "--json", ENDLESS]);
    drop(child.stdin.take());
    let mut out = BufReader::new(child.stdout.take().unwrap()).lines();
    out.find(|line| line.as_ref().unwrap().contains("\"event\":\"text\"")).unwrap().unwrap();
    kill(Pid::from_raw(i32::try_from(child.id()).unwrap()), Signal::SIGINT).unwrap();
    let last: Value = serde_json::from_str(&out.last().unwrap().unwrap()).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(130));
    assert_eq!((&last["event"], &last["finish"]), (&"done".into(), &"cancelled".into()));
    assert!(last["text"].as_str().unwrap().starts_with('S'), "{last}");
    let shown = tree(&program);
    assert_eq!(shown["nodes"][1]["status"], "interrupted");
    assert_eq!(shown["nodes"][1]["message"]["parts"][0]["text"], last["text"]);
}

#[test]
fn what_is_wrong_with_a_server_says_what_to_do() {
    let program = Program::new();
    let folder = describe(&program.path("sea"));
    let usual = Server::start();
    let several = Server::with(Unusual { has_two_models: true, ..Unusual::default() });
    let other = Server::with(Unusual { has_other_tokenizer: true, ..Unusual::default() });
    let locked = Server::with(Unusual { key: Some(KEY), ..Unusual::default() });
    let folder = folder.to_str().unwrap();
    let cases: [(&[&str], i32, &str); 12] = [
        (&["--remote", "http://127.0.0.1:9", "-m", folder], 1, "check that the server runs"),
        (&["--remote", "localhost:8000", "-m", folder], 1, "write it like \"http://localhost:8000\""),
        (&["--remote", "http://a:b@localhost", "-m", folder], 1, "ALLOQUY_REMOTE_KEY"),
        (&["--remote", "http://a,none", "-m", folder], 1, "leave none out"),
        (&["--remote", &usual.url], 1, "(the server has sea): name a folder or a model of the Hub"),
        (&["--remote", &usual.url, "-m", "pocket"], 1, "--remote none"),
        (&["--remote", &usual.url, "-m", folder, "--adapter", "a"], 1, "--remote-model chooses"),
        (&["--remote", &several.url, "-m", folder], 1, "--remote-model of the command line: sea, land"),
        (&["--remote", &several.url, "-m", folder, "--remote-model", "air"], 1, "no model \"air\""),
        (&["--remote", &other.url, "-m", folder], 1, "the server has another tokenizer"),
        (&["--remote", &locked.url, "-m", folder], 1, "ALLOQUY_REMOTE_KEY"),
        (&["--remote-dialect", "smtp", "-m", folder], 2, "auto, completions, vllm"),
    ];
    for (arguments, code, expected) in cases {
        let ran = program.run(&[&["ask", "--conversation", "tea", "Tea?"], arguments].concat());
        assert_eq!(ran.code, Some(code), "{arguments:?}: {ran:?}");
        assert!(ran.err.contains(expected), "{arguments:?}: {}", ran.err);
    }
    assert_eq!(program.run(&["tree"]).code, Some(1), "nothing was stored");
    let chosen = ["ask", "--remote", &several.url, "-m", folder, "--remote-model", "land", "Tea?"];
    program.run(&chosen).ok();
    assert_eq!(several.asked("/completion")[0].body["model"], "land");
    // On this machine the folder lacks its weights.
    let local = program.run(&["ask", "--remote", "none", "-m", folder, "Tea?"]);
    assert!(local.code == Some(1) && local.err.contains("onnx"), "{local:?}");
}

#[test]
fn settings_of_this_machine_have_no_effect_and_that_is_said() {
    let world = World::new();
    let ran = world.run(&["ask", "--threads", "2", "--kv-cache", "int8", "Tea?"]).ok();
    for flag in ["--threads", "--kv-cache"] {
        assert!(ran.err.contains(&format!("{flag} has no effect: the model is computed at")), "{}", ran.err);
    }
    let bench = world.run(&["bench"]);
    assert!(bench.code == Some(1) && bench.err.contains("--remote none"), "{bench:?}");
    let rendered = world.run(&["render", "--show", "ids", "Tea?"]).ok();
    assert_eq!(rendered.out, "257 84 101 97 63 256 258\n");
}

#[test]
fn a_flow_asks_the_model_of_a_server() {
    let World { server, program } = World::new();
    program.write("sea.yaml", "name: sea\nstates:\n  tale: {ask: Tell a tale.}\n");
    for arguments in [&[][..], &["--remote-chat", "completions"]] {
        let ran = program.run(&[&["flow", "run", "sea.yaml"], arguments].concat()).ok();
        assert!(ran.out.contains(REPLY), "{ran:?}");
    }
    assert_eq!(server.asked("/completion").len(), 1);
    assert_eq!(server.asked("/v1/chat/completions").len(), 1);
}

#[test]
fn a_chat_endpoint_needs_no_folder_and_says_what_is_lost() {
    let server = Server::start();
    let program = Program::new().variable("ALLOQUY_REMOTE", &server.url);
    let program = program.variable("ALLOQUY_REMOTE_CHAT", "completions");
    let ran = program.run(&["ask", "-v", "--model", "any", "Tea?"]).ok();
    assert_eq!(ran.out, format!("{REPLY}\n"));
    let notice = format!("any at {} makes its prompts itself: control tokens in texts", server.url);
    assert!(ran.err.contains(&notice), "{}", ran.err);
    assert!(ran.err.contains("(prompt 20: 16 reused by the server, reply 4 tokens)"), "{}", ran.err);
    assert_eq!(server.asked("/v1/chat/completions")[0].body["model"], "any");
    // A server with one model needs no name.
    let ran = program.run_with(&["chat", "--json"], "Tea?\n/model\n/model other\nMore?\n").ok();
    let events = ran.events();
    let models: Vec<_> = events.iter().filter(|event| event["event"] == "model").collect();
    assert_eq!(models[0]["name"], format!("the model at {}", server.url));
    assert_eq!((&models[0]["context"], &models[0]["family"]), (&Value::Null, &Value::Null));
    let last = server.asked("/v1/chat/completions").pop().unwrap().body;
    assert_eq!((&last["model"], last["messages"].as_array().unwrap().len()), (&"other".into(), 3));
    assert_eq!(program.run(&["ask", "-q", "Tea?"]).ok().err, "");
    for (arguments, expected) in [
        (&["ask", "--context-policy", "drop", "Tea?"][..], "--context-policy"),
        (&["complete", "Once"], "leave --remote-chat out"),
        (&["render", "Tea?"], "leave --remote-chat out"),
        (&["ask", "--remote-chat", "smtp", "Tea?"], "completions, messages, responses"),
    ] {
        let ran = program.run(arguments);
        assert!(ran.code != Some(0) && ran.err.contains(expected), "{ran:?}");
    }
    let ran = program.run(&["ask", "--template", "chatml", "Tea?"]).ok();
    assert!(ran.err.contains("--template has no effect: the prompts are made"), "{}", ran.err);
    let ran =
        program.run(&["ask", "--remote", "none", "--remote-chat", "messages", "--model", "/nope", "Tea?"]);
    assert!(ran.err.contains("\"/nope\" does not exist"), "{}", ran.err);
}

#[test]
fn the_key_reaches_the_server_and_no_output() {
    let World { server, program } = World::with(Unusual { key: Some(KEY), ..Unusual::default() });
    let file = program.write("key", &format!("{KEY}\n"));
    let with_variable = program.variable("ALLOQUY_REMOTE_KEY", KEY);
    let commands: [&[&str]; 6] = [
        &["ask", "-vvv", "--conversation", "tea", "Tea?"],
        &["ask", "-vvv", "--remote-chat", "completions", "Tea?"],
        &["remote", "-vvv", "--json"],
        &["doctor", "-vvv"],
        &["config", "show", "--all"],
        &["tree"],
    ];
    for arguments in commands {
        let ran = with_variable.run(arguments).ok();
        assert!(!ran.out.contains(KEY) && !ran.err.contains(KEY), "{arguments:?}");
    }
    let asked = server.heads();
    assert!(asked.len() > 20 && asked.iter().all(|head| head.contains(&format!("Bearer {KEY}"))));
    let wrong = with_variable.run(&["ask", "-vvv", "--remote-key-file", "nowhere", "Tea?"]);
    assert!(wrong.code == Some(1) && wrong.err.contains("--remote-key-file has no key"), "{wrong:?}");

    let program = Program::new().variable("ALLOQUY_REMOTE_KEY_FILE", file);
    let folder = describe(&program.path("sea"));
    let folder = folder.to_str().unwrap();
    let arguments = ["chat", "--remote", &server.url, "-m", folder];
    let other = Server::start();
    // The other server is not sent the key of the first one.
    let script = format!("Tea?\n/model {} {folder}\nMore?\n", other.url);
    let ran = program.run_with(&arguments, &script).ok();
    assert!(ran.err.contains("the key is of the first server, and not sent to this one"), "{}", ran.err);
    assert_eq!(other.asked("/completion").len(), 1);
    assert!(other.heads().iter().all(|head| !head.to_lowercase().contains("authorization")));
}

#[test]
fn a_server_is_described() {
    let World { server, program } = World::new();
    let shown = program.run(&["remote"]).ok().out;
    let expected = format!(
        "address    {}\ndialect    llamacpp\nversion    b7\nmodel      sea (context 1024)\ntokenizer  the same: 20 texts have the \
         same tokens\nignores    no_repeat_ngram, penalty_scope\ngrammars   JSON Schema, choice\nhas        cached tokens with the \
         first token\n",
        server.url
    );
    assert_eq!(shown, expected);
    let value = program.run(&["remote", &server.url, "--json"]).ok().events().remove(0);
    assert_eq!(value["models"], json!([{"name": "sea", "context": 1024}]));
    assert_eq!(value["tokenizer"], json!({"same": true, "texts": 20}));
    let other = Server::with(Unusual { has_other_tokenizer: true, ..Unusual::default() });
    let refused = program.run(&["remote", &other.url]);
    assert!(refused.code == Some(1) && refused.err.contains("another tokenizer"), "{refused:?}");
    let absent = program.run(&["remote", "http://127.0.0.1:9"]);
    assert!(absent.code == Some(1) && absent.err.contains("check that the server runs"), "{absent:?}");
    assert_eq!(Program::new().run(&["remote"]).code, Some(2));
    let endpoint = program.run(&["remote", "--remote-chat", "completions"]).ok().out;
    assert_eq!(
        endpoint,
        format!("address    {}\nendpoint   /v1/chat/completions\nmodel      sea\n", server.url)
    );
    let doctor = program.run(&["doctor", "--remote", "http://127.0.0.1:9"]);
    assert!(doctor.code == Some(1) && doctor.out.contains("problem  server"), "{}", doctor.out);
    assert!(program.run(&["doctor"]).out.contains("llamacpp b7 with sea"));
}

#[test]
fn of_a_model_of_the_hub_only_the_description_is_fetched() {
    let hub = HubServer::start().unwrap();
    for (name, text) in server::description() {
        hub.add("tiny/sea", name, text);
    }
    hub.add("tiny/sea", "model.safetensors", "weights");
    hub.add("tiny/gguf", "sea.gguf", "weights");
    let server = Server::start();
    let program =
        Program::new().variable("HF_ENDPOINT", hub.endpoint()).variable("ALLOQUY_REMOTE", &server.url);
    let ran = program.run(&["ask", "-m", "tiny/sea", "Tea?"]).ok();
    assert_eq!(ran.out, format!("{REPLY}\n"));
    assert!(
        ran.err.contains("tokenizer, configuration and template, for a model on a server"),
        "{}",
        ran.err
    );
    assert!(hub.requests().iter().all(|request| !request.path.contains("safetensors")));
    // It is here now.
    let count = hub.requests().len();
    assert_eq!(program.run(&["ask", "-m", "tiny/sea", "Tea?"]).ok().err, "");
    assert_eq!(hub.requests().len(), count);
    let refused = program.run(&["ask", "-m", "tiny/gguf", "Tea?"]);
    assert!(refused.code == Some(1) && refused.err.contains("name the repository from which"), "{refused:?}");
    let offline = Program::new().variable("HF_HUB_OFFLINE", "1").variable("ALLOQUY_REMOTE", &server.url);
    let refused = offline.run(&["ask", "-m", "tiny/sea", "Tea?"]);
    assert!(refused.code == Some(1) && refused.err.contains("HF_HUB_OFFLINE"), "{refused:?}");

    let program = Program::new().variable("HF_ENDPOINT", hub.endpoint());
    let pulled = program.run(&["pull", "tiny/sea", "--no-weights"]).ok();
    assert!(PathBuf::from(pulled.out.trim()).join("tokenizer.json").exists(), "{}", pulled.out);
    assert_eq!(program.run(&["pull", "tiny/sea", "--no-weights", "--variant", "q4"]).code, Some(2));
}

#[test]
fn a_server_of_llama_cpp_says_what_the_model_says_here() {
    let Some(llama) = Llama::start() else { return };
    let program = Program::new().variable("ALLOQUY_MODEL", llama.models.join("stories260k"));
    let arguments = ["complete", "--temperature", "0", "--max-tokens", "40", "Once upon a time"];
    let here = program.run(&arguments).ok().out;
    let there = program.run(&[&arguments[..], &["--remote", &llama.url]].concat()).ok().out;
    assert_eq!(here, there);
    let greedy = ["chat", "--remote", &llama.url, "--temperature", "0", "--max-tokens", "8", "--json"];
    let events = program.run_with(&greedy, "Once\nThen\n/retry\n").ok().events();
    let done: Vec<_> = events.iter().filter(|event| event["event"] == "done").collect();
    assert_eq!(done.len(), 3);
    // The answer again: all of its prompt but the last token is cached.
    let cache = &done[2]["cache"];
    assert_eq!(cache["prompt"].as_u64().unwrap() - cache["cached"].as_u64().unwrap(), 1, "{cache}");
    assert_eq!(done[1]["text"], done[2]["text"]);
    let endpoint = [&greedy[..], &["--remote-chat", "completions"]].concat();
    let events = program.run_with(&endpoint, "Once\n").ok().events();
    assert_eq!(events.last().unwrap()["usage"]["generated"], 8);
}

#[cfg(unix)]
#[test]
fn models_of_servers_are_served() {
    use std::io::{Read as _, Write as _};

    let World { server, program } = World::new();
    let folder = program.path("sea");
    let folder = folder.to_str().unwrap();
    let at_server = format!("tide={folder}@{}", server.url);
    let checked = program.run(&["serve", "--check", "--model", &at_server, "--remote", "none"]).ok().out;
    assert!(checked.contains(&format!("at {}", server.url)), "{checked}");
    let away = format!("tide={folder}@http://127.0.0.1:9");
    let ran = program.run(&["serve", "--check", "--model", &away]);
    assert_eq!(ran.code, Some(1));
    assert!(
        ran.err.contains("model \"tide\"") && ran.err.contains("check that the server runs"),
        "{}",
        ran.err
    );

    let chat = format!("talk=sea@{}", server.url);
    for (flags, name) in [
        (vec!["--model", &at_server], "tide"),
        // Both are in variables.
        (vec![], "sea"),
        (vec!["--model", &chat, "--remote-chat", "completions"], "talk"),
    ] {
        let mut child = program.spawn(&[vec!["serve", "--bind", "127.0.0.1:0"], flags].concat());
        let mut errors = BufReader::new(child.stderr.take().unwrap());
        let mut text = String::new();
        while !text.contains("serving at") {
            assert!(errors.read_line(&mut text).unwrap() > 0, "{text}");
        }
        let (_, rest) = text.split_once("serving at http://").unwrap();
        let address = rest.split('/').next().unwrap();
        let body = r#"{"messages": [{"role": "user", "content": "Tea?"}]}"#;
        let head = format!(
            "POST /v1/chat/completions HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\ncontent-type: application/json\r\n\
             content-length: {}\r\n\r\n{body}",
            body.len()
        );
        let mut stream = std::net::TcpStream::connect(address).unwrap();
        stream.write_all(head.as_bytes()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        assert!(answer.contains(REPLY) && answer.contains(&format!("\"model\":\"{name}\"")), "{answer}");
        child.kill().unwrap();
        child.wait().unwrap();
    }
}
