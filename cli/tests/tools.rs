//! Tools of servers on the command line.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)] // a test may panic

mod program;
#[allow(dead_code)] // without the feature nothing of it is used
mod shared;

use program::Program;

/// A server in a few lines of Python, which need no package.
#[cfg(feature = "mcp")]
const SERVER: &str = r#"
import json, sys
schema = {"type": "object", "properties": {"city": {"type": "string"}}}
answers = {
    "initialize": {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}, "serverInfo": {"name": "sky", "version": "1"}},
    "tools/list": {"tools": [{"name": "weather", "description": "Tells the weather\nof a city", "inputSchema": schema}]},
}
for line in sys.stdin:
    asked = json.loads(line)
    if "id" in asked:
        print(json.dumps({"jsonrpc": "2.0", "id": asked["id"], "result": answers[asked["method"]]}), flush=True)
"#;

#[cfg(feature = "mcp")]
fn server(program: &Program) -> Option<&'static str> {
    if std::process::Command::new("python3").arg("--version").output().is_err() {
        eprintln!("Skipping: there is no python3");
        return None;
    }
    program.write("a server.py", SERVER);
    Some("python3 'a server.py'")
}

#[cfg(feature = "mcp")]
#[test]
fn tools_of_a_server_are_listed_and_shown_to_a_model() {
    let program = Program::new();
    let Some(server) = server(&program) else { return };
    let listed = program.run(&["tools", "--mcp", server]).ok();
    assert_eq!(
        (listed.out.as_str(), listed.err.as_str()),
        ("weather: Tells the weather\n", "tools of sky: weather\n")
    );
    let json = program.run(&["tools", "--mcp", server, "--json"]).ok().events().remove(0);
    assert_eq!(json["tools"][0]["parameters"]["properties"]["city"]["type"], "string");
    let twice = program.run(&["tools", "--mcp", server, "--mcp", server]);
    assert!(twice.err.contains("two servers offer the same tool"), "{}", twice.err);

    let Some(model) = shared::find("models/tiny/genai-qwen3-fp32") else { return };
    let Some(template) = shared::find("cases/templates/jinja/llamacpp--Qwen-Qwen3-0.6B.jinja") else {
        return;
    };
    let program = program.variable("ALLOQUY_MODEL", model).variable("ALLOQUY_TEMPLATE", template);
    let rendered = program.run(&["render", "--mcp", server, "Hello"]).ok().out;
    assert!(rendered.contains(r#"{"type": "function", "function": {"name": "weather""#), "{rendered}");
}

#[cfg(feature = "mcp")]
#[test]
fn a_tool_that_is_not_offered_is_told_with_the_reason() {
    let program = Program::new();
    if server(&program).is_none() {
        return;
    }
    let odd = r#"{"tools": [{"name": "wea\u001b]ther\u202e", "inputSchema": schema}, "#;
    program.write("odd.py", &SERVER.replace("{\"tools\": [", odd));
    let listed = program.run(&["tools", "--mcp", "python3 odd.py"]).ok();
    assert_eq!(listed.out, "weather: Tells the weather\n");
    let reason = "its name holds '\\u{1b}', and only letters, digits and _ - . / : are allowed";
    let reported = format!("tool \"wea\\u{{1b}}]ther\\u{{202e}}\" of sky is not offered: {reason}\n");
    assert!(listed.err.ends_with(&reported), "{}", listed.err);
    let json = program.run(&["tools", "--mcp", "python3 odd.py", "--json"]).ok().events().remove(0);
    assert_eq!(json["tools"].as_array().unwrap().len(), 1);
    let refused = serde_json::json!([{"server": "sky", "name": "wea\u{1b}]ther\u{202e}", "reason": reason}]);
    assert_eq!(json["refused"], refused);
    // A command that offers the rest to a model reports it too.
    #[cfg(feature = "pocket")]
    assert!(
        program
            .run(&["ask", "--mcp", "python3 odd.py", "--tool-choice", "none", "Hi"])
            .err
            .contains(&reported)
    );
}

#[cfg(feature = "mcp")]
#[test]
fn a_server_that_is_none_is_told_in_one_sentence() {
    let program = Program::new();
    program.write("silent.py", "import sys\nfor line in sys.stdin: pass\n");
    let reported = |arguments: &[&str]| {
        let ran = program.run(&[&["tools", "--tool-timeout", "1"], arguments].concat());
        assert_eq!(ran.code, Some(1));
        ran.err
    };
    let silent = "server \"python3 silent.py\" did not answer within 1s";
    assert_eq!(reported(&["--mcp", "python3 silent.py"]), format!("error: {silent}\n"));
    let nobody = reported(&["--mcp-url", "http://127.0.0.1:1/mcp"]);
    assert!(!nobody.contains("rmcp::"), "{nobody}");
    let nonsense = "address \"nonsense\" begins with neither \"http://\" nor \"https://\"";
    assert_eq!(reported(&["--mcp-url", "nonsense"]), format!("error: {nonsense}\n"));
}

/// A schema that cannot be enforced is refused where calls are held to the tools, and nowhere else.
#[cfg(all(feature = "mcp", feature = "pocket"))]
#[test]
fn calls_of_the_pocket_model_are_held_to_the_tools_unless_they_are_to_be_free() {
    let program = Program::new();
    if server(&program).is_none() {
        return;
    }
    let days = r#""days": {"type": "array", "uniqueItems": True}"#;
    program.write("days.py", &SERVER.replace(r#""properties": {"#, &format!(r#""properties": {{{days}, "#)));
    let asked =
        |choice: &[&str]| program.run(&[&["ask", "--mcp", "python3 days.py", "Hello!"], choice].concat());
    let held = asked(&[]);
    assert_eq!(held.code, Some(1), "{}", held.out);
    assert!(held.err.contains("\"uniqueItems\""), "{}", held.err);
    assert!(!asked(&["--tool-choice", "free"]).ok().out.is_empty());
    assert!(!asked(&["--tool-choice", "none"]).ok().out.is_empty());
}

#[cfg(not(feature = "mcp"))]
#[test]
fn a_server_needs_the_feature() {
    let ran = Program::new().run(&["tools", "--mcp", "server"]);
    assert_eq!(ran.code, Some(1));
    let said =
        "error: server \"server\": this program was built without MCP; build it with the feature \"mcp\"";
    assert!(ran.err.starts_with(said), "{}", ran.err);
}

#[test]
fn without_servers_there_are_no_tools() {
    let ran = Program::new().run(&["tools", "--approve", "never", "--tool-rounds", "0"]).ok();
    assert_eq!(ran.out, "");
    assert_eq!(ran.err, "there are no tools: name a server with --mcp COMMAND or --mcp-url URL\n");
    assert_eq!(Program::new().run(&["tools", "--approve", "perhaps"]).code, Some(2));
}
