//! How exporters name the files of graphs. Knows no folder.

/// The names of a decoder's graph, without type and ending, the most usual first.
pub(crate) const GRAPHS: [&str; 2] = ["model", "decoder_model_merged"];

/// Returns how exporters name a graph of a number type; the plain one is of 32-bit floats.
pub(crate) fn graph_name(graph: &str, type_name: &str) -> String {
    match type_name {
        "" | "fp32" => format!("{graph}.onnx"),
        type_name => format!("{graph}_{type_name}.onnx"),
    }
}

/// Says whether a file is a graph of that name, of whatever type.
pub(crate) fn is_graph_of(graph: &str, file: &str) -> bool {
    let rest = file.strip_prefix(graph).and_then(|rest| rest.strip_suffix(".onnx"));
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('_'))
}

/// Returns the type of a decoder's graph, as its file is named.
pub(crate) fn type_of(file: &str) -> Option<&str> {
    let stem = file.strip_suffix(".onnx")?;
    let named = GRAPHS.iter().find_map(|graph| stem.strip_prefix(graph)?.strip_prefix('_'));
    named.filter(|type_name| !type_name.is_empty())
}
