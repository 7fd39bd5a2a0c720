//! How exporters name the files of graphs.

use crate::draft_heads::is_draft_graph;

/// The names of a decoder's graph, without type and extension, the most usual first.
pub(crate) const GRAPHS: [&str; 2] = ["model", "decoder_model_merged"];

/// Returns the file name of a graph with weights of a number type. 32-bit floats have no type in the name.
pub(crate) fn graph_name(graph: &str, type_name: &str) -> String {
    match type_name {
        "" | "fp32" => format!("{graph}.onnx"),
        type_name => format!("{graph}_{type_name}.onnx"),
    }
}

/// Returns whether a file is a graph of that name, of any number type.
pub(crate) fn is_graph_of(graph: &str, file: &str) -> bool {
    let rest = file.strip_prefix(graph).and_then(|rest| rest.strip_suffix(".onnx"));
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('_'))
}

/// Returns whether a file is a decoder's graph, by its name.
pub(crate) fn is_decoder(file: &str) -> bool {
    file.ends_with(".onnx") && !is_draft_graph(file) && GRAPHS.iter().any(|graph| file.starts_with(graph))
}

/// Returns the number type in the file name of a decoder's graph.
pub(crate) fn type_of(file: &str) -> Option<&str> {
    let stem = file.strip_suffix(".onnx")?;
    let named = GRAPHS.iter().find_map(|graph| stem.strip_prefix(graph)?.strip_prefix('_'));
    named.filter(|type_name| !type_name.is_empty())
}
