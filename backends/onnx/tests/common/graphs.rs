//! Little decoders written by hand: an embedding, a sum or an attention over the earlier tokens, and a head with an optional
//! low-rank adapter.

use alloquy_model_files::ModelFiles;

use super::protobuf::Message;

/// Large enough that weights are written to a file beside the graph.
pub const VOCABULARY: usize = 64;
pub const WIDTH: usize = 8;
pub const RANK: usize = 2;

const TOKENIZER: &[u8] = include_bytes!("../../../../model-files/tests/fixtures/tokenizers/unigram.json");

/// The kind of the graph's cache.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Cache {
    /// The graph makes new tensors, and sums over them.
    Concat,
    /// The graph writes into the buffer of its input, and attends to it.
    Shared,
}

/// Where the adapter's tensors are.
#[derive(Clone, Debug)]
pub enum Lora {
    /// They are inputs that must be fed.
    Required,
    /// They are inputs with default values of rank 0.
    Optional,
    /// They are weights.
    Baked(Vec<f32>, Vec<f32>),
    /// There are none; their product is in the weights of the head.
    Merged(Vec<f32>, Vec<f32>),
}

/// Numbers between -1 and 1 without a pattern (Park and Miller's generator).
pub fn noise(seed: u64, count: usize) -> Vec<f32> {
    let numbers = std::iter::successors(Some(seed), |last| Some(last * 48_271 % 2_147_483_647));
    numbers.skip(8).take(count).map(|number| (number % 2001) as f32 / 1000.0 - 1.0).collect()
}

/// A model of such a graph, with a tokenizer and descriptions.
pub fn model(cache: Cache, lora: &Lora) -> ModelFiles {
    let config = r#"{"max_position_embeddings": 64, "eos_token_id": 2, "vocab_size": 64}"#;
    let genai = r#"{"model": {"context_length": 64}, "search": {"past_present_share_buffer": true}}"#;
    let files = ModelFiles::new("little")
        .file("model.onnx", graph(cache, lora))
        .file("tokenizer.json", TOKENIZER)
        .file("config.json", config.as_bytes());
    match cache {
        Cache::Concat => files,
        Cache::Shared => files.file("genai_config.json", genai.as_bytes()),
    }
}

/// The bytes of such a graph.
pub fn graph(cache: Cache, lora: &Lora) -> Vec<u8> {
    graph_of(cache, lora, weights(lora), &[])
}

/// The bytes of a graph with further outputs, such as those of heads that predict several tokens at once.
pub fn graph_with_outputs(more: &[&str]) -> Vec<u8> {
    let lora = Lora::Merged(noise(3, WIDTH * RANK), noise(4, RANK * VOCABULARY));
    graph_of(Cache::Concat, &lora, weights(&lora), more)
}

/// The bytes of the embeddings, for a file beside a graph.
pub fn embeddings() -> Vec<u8> {
    noise(1, VOCABULARY * WIDTH).iter().flat_map(|value| value.to_le_bytes()).collect()
}

/// The bytes of a graph whose embeddings are in the file that these entries name.
pub fn graph_with_embeddings_at(entries: &[(&str, &str)]) -> Vec<u8> {
    let lora = Lora::Merged(noise(3, WIDTH * RANK), noise(4, RANK * VOCABULARY));
    let sized = Message::default().number(1, VOCABULARY as u64).number(1, WIDTH as u64);
    let mut tensor = sized.number(2, FLOAT).text(8, "embeddings");
    for (key, value) in entries {
        tensor = tensor.message(13, Message::default().text(1, key).text(2, value));
    }
    let mut all = weights(&lora);
    all[0] = tensor.number(14, 1);
    graph_of(Cache::Concat, &lora, all, &[])
}

fn graph_of(cache: Cache, lora: &Lora, weights: Vec<Message>, more: &[&str]) -> Vec<u8> {
    let mut graph = Message::default().text(2, "little");
    let nodes = match cache {
        Cache::Concat => summing(),
        Cache::Shared => attending(),
    };
    for node in nodes.into_iter().chain(head(lora)) {
        graph = graph.message(1, node);
    }
    for output in more {
        graph = graph.message(1, node("MatMul", &["h", "head"], &[output]));
    }
    for weight in weights {
        graph = graph.message(5, weight);
    }
    for input in inputs(cache, lora) {
        graph = graph.message(11, input);
    }
    let past = ["rows", "1", "positions", "8"];
    let outputs = [
        float("logits", &["rows", "tokens", "64"]),
        float("present.0.key", &past),
        float("present.0.value", &past),
    ];
    let more = more.iter().map(|output| float(output, &["rows", "tokens", "64"]));
    for output in outputs.into_iter().chain(more) {
        graph = graph.message(12, output);
    }
    let plain = Message::default().text(1, "").number(2, 17);
    let microsoft = Message::default().text(1, "com.microsoft").number(2, 1);
    Message::default().number(1, 8).message(7, graph).message(8, plain).message(8, microsoft).bytes()
}

/// `h` is the sum of the embeddings up to each token.
fn summing() -> Vec<Message> {
    vec![
        node("Gather", &["embeddings", "input_ids"], &["x"]),
        node("Unsqueeze", &["x", "one"], &["k"]),
        node("Concat", &["past_key_values.0.key", "k"], &["present.0.key"]).message(5, integer("axis", 2)),
        node("Concat", &["past_key_values.0.value", "k"], &["present.0.value"])
            .message(5, integer("axis", 2)),
        node("CumSum", &["present.0.key", "positions"], &["sums"]),
        node("Shape", &["past_key_values.0.key"], &["held"])
            .message(5, integer("start", 2))
            .message(5, integer("end", 3)),
        node("Slice", &["sums", "held", "far", "axes"], &["own"]),
        node("Squeeze", &["own", "one"], &["h"]),
    ]
}

/// `h` is an attention of one head to the embeddings up to each token.
fn attending() -> Vec<Message> {
    let attention = node(
        "GroupQueryAttention",
        &["x", "x", "x", "past_key_values.0.key", "past_key_values.0.value", "lengths", "longest"],
        &["h", "present.0.key", "present.0.value"],
    );
    vec![
        node("Gather", &["embeddings", "input_ids"], &["x"]),
        node("ReduceSum", &["attention_mask", "one"], &["counts"]).message(5, integer("keepdims", 0)),
        node("Sub", &["counts", "one"], &["lasts"]),
        node("Cast", &["lasts"], &["lengths"]).message(5, integer("to", INT32)),
        node("Shape", &["attention_mask"], &["sizes"])
            .message(5, integer("start", 1))
            .message(5, integer("end", 2)),
        node("Squeeze", &["sizes"], &["size"]),
        node("Cast", &["size"], &["longest"]).message(5, integer("to", INT32)),
        attention
            .text(7, "com.microsoft")
            .message(5, integer("num_heads", 1))
            .message(5, integer("kv_num_heads", 1)),
    ]
}

fn head(lora: &Lora) -> Vec<Message> {
    match lora {
        Lora::Merged(..) => vec![node("MatMul", &["h", "head"], &["logits"])],
        Lora::Required | Lora::Optional | Lora::Baked(..) => vec![
            node("MatMul", &["h", "head"], &["base"]),
            node("MatMul", &["h", "lora_a"], &["down"]),
            node("MatMul", &["down", "lora_b"], &["up"]),
            node("Add", &["base", "up"], &["logits"]),
        ],
    }
}

fn weights(lora: &Lora) -> Vec<Message> {
    let mut head = noise(2, WIDTH * VOCABULARY);
    let mut weights = vec![
        floats("embeddings", &[VOCABULARY, WIDTH], &noise(1, VOCABULARY * WIDTH)),
        integers("one", &[1], 1),
        integers("positions", &[], 2),
        integers("far", &[1], i64::MAX),
        integers("axes", &[1], 2),
    ];
    match lora {
        Lora::Required => {}
        Lora::Optional => {
            weights.push(floats("lora_a", &[WIDTH, 0], &[]));
            weights.push(floats("lora_b", &[0, VOCABULARY], &[]));
        }
        Lora::Baked(a, b) => {
            weights.push(floats("lora_a", &[WIDTH, RANK], a));
            weights.push(floats("lora_b", &[RANK, VOCABULARY], b));
        }
        Lora::Merged(a, b) => {
            for (index, weight) in head.iter_mut().enumerate() {
                let row = index / VOCABULARY;
                let column = index % VOCABULARY;
                *weight +=
                    (0..RANK).map(|rank| a[row * RANK + rank] * b[rank * VOCABULARY + column]).sum::<f32>();
            }
        }
    }
    weights.push(floats("head", &[WIDTH, VOCABULARY], &head));
    weights
}

fn inputs(cache: Cache, lora: &Lora) -> Vec<Message> {
    let past = ["rows", "1", "held", "8"];
    let mut inputs = vec![
        value("input_ids", INT64, &["rows", "tokens"]),
        float("past_key_values.0.key", &past),
        float("past_key_values.0.value", &past),
    ];
    if cache == Cache::Shared {
        inputs.push(value("attention_mask", INT64, &["rows", "all"]));
    }
    if matches!(lora, Lora::Required | Lora::Optional) {
        inputs.push(float("lora_a", &["8", "rank"]));
        inputs.push(float("lora_b", &["rank", "64"]));
    }
    inputs
}

const FLOAT: u64 = 1;
const INT32: u64 = 6;
const INT64: u64 = 7;

fn node(operator: &str, inputs: &[&str], outputs: &[&str]) -> Message {
    let node = inputs.iter().fold(Message::default(), |node, input| node.text(1, input));
    outputs.iter().fold(node, |node, output| node.text(2, output)).text(4, operator)
}

fn integer(name: &str, value: u64) -> Message {
    Message::default().text(1, name).number(3, value).number(20, 2)
}

fn float(name: &str, shape: &[&str]) -> Message {
    value(name, FLOAT, shape)
}

/// An input or output; a size that is not a number is a symbol.
fn value(name: &str, element: u64, shape: &[&str]) -> Message {
    let dimension = |size: &&str| match size.parse() {
        Ok(size) => Message::default().number(1, size),
        Err(_) => Message::default().text(2, size),
    };
    let shape = shape.iter().map(dimension).fold(Message::default(), |shape, size| shape.message(1, size));
    let tensor = Message::default().number(1, element).message(2, shape);
    Message::default().text(1, name).message(2, Message::default().message(1, tensor))
}

fn floats(name: &str, shape: &[usize], values: &[f32]) -> Message {
    let bytes: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
    tensor(name, FLOAT, shape, &bytes)
}

fn integers(name: &str, shape: &[usize], value: i64) -> Message {
    tensor(name, INT64, shape, &value.to_le_bytes())
}

fn tensor(name: &str, element: u64, shape: &[usize], bytes: &[u8]) -> Message {
    let sized = shape.iter().fold(Message::default(), |tensor, &size| tensor.number(1, size as u64));
    sized.number(2, element).text(8, name).raw(9, bytes)
}
