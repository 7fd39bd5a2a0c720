//! The adapters that tests write are valid: ONNX Runtime's own reader accepts them, and the results are those of the same
//! weights in the graph. This test has a file of its own, because a process has one environment, and in other files an engine
//! makes it.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)] // a test may panic

mod common;

use alloquy_onnx::Locator;
use common::adapters::{Parameter, adapter};
use common::graphs::{Cache, Lora, RANK, VOCABULARY, WIDTH, graph, noise};
use ort::environment::Environment;
use ort::memory::Allocator;
use ort::session::{Adapter, RunOptions, Session};
use ort::value::Tensor;

fn logits(environment: &Environment, lora: &Lora, options: &RunOptions) -> Vec<f32> {
    let builder = Session::builder(environment).unwrap().with_intra_threads(1);
    let mut session = builder.unwrap().commit_from_memory(&graph(Cache::Concat, lora)).unwrap();
    let inputs = ort::inputs![
        "input_ids" => Tensor::from_array(([1, 4], vec![3_i64, 1, 4, 15])).unwrap(),
        "past_key_values.0.key" => empty_cache(),
        "past_key_values.0.value" => empty_cache(),
    ];
    let outputs = session.run_with_options(inputs, options).unwrap();
    outputs["logits"].try_extract_tensor::<f32>().unwrap().1.to_vec()
}

fn empty_cache() -> Tensor<f32> {
    Tensor::new(&Allocator::default(), [1_i64, 1, 0, WIDTH as i64]).unwrap()
}

fn difference(left: &[f32], right: &[f32]) -> f32 {
    left.iter().zip(right).map(|(left, right)| (left - right).abs()).fold(0.0, f32::max)
}

#[test]
fn onnx_runtime_reads_them_and_computes_with_them() {
    let library = Locator::new().locate(|_| {}).unwrap();
    let environment = ort::init_from(library.path).unwrap().build().unwrap();
    let a = noise(5, WIDTH * RANK);
    let b = noise(6, RANK * VOCABULARY);
    let bytes = adapter(&[
        Parameter::floats("lora_a", &[WIDTH, RANK], &a),
        Parameter::floats("lora_b", &[RANK, VOCABULARY], &b),
    ]);
    let read = Adapter::from_memory(&bytes, None).unwrap();
    let mut with = RunOptions::new().unwrap();
    with.add_adapter(&read).unwrap();
    let without = RunOptions::new().unwrap();
    let adapted = logits(&environment, &Lora::Optional, &with);
    let baked = logits(&environment, &Lora::Baked(a, b), &without);
    let plain = logits(&environment, &Lora::Optional, &without);
    assert!(difference(&adapted, &baked) < 1e-5);
    assert!(difference(&adapted, &plain) > 0.1);
    assert!(Adapter::from_memory(&bytes[..bytes.len() / 2], None).is_err());
}
