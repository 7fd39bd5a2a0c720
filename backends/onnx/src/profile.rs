//! A profile of ONNX Runtime: which provider computed which node of a graph.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

use alloquy_core::{Error, ErrorKind, Result};
use alloquy_model_files::bounded;
use serde_json::Value;

use crate::provider_trial::CpuShare;

/// How ONNX Runtime names the processor.
const PROCESSOR: &str = "CPUExecutionProvider";

/// How many bytes a profile may have. A dozen tokens of a large model take some megabytes.
const MOST: u64 = 256 << 20;

/// A folder into which ONNX Runtime writes a profile. It is removed with this value.
#[derive(Debug)]
pub(crate) struct Profile {
    folder: PathBuf,
    path: PathBuf,
}

impl Profile {
    pub(crate) fn new() -> Result<Self> {
        static NEXT: AtomicUsize = AtomicUsize::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let folder = std::env::temp_dir().join(format!("alloquy-profile-{}-{number}", std::process::id()));
        // Another user may have made a folder of this name, or a link.
        fs::create_dir(&folder).map_err(|source| failed(&folder, source))?;
        let path = folder.join("profile");
        Ok(Self { folder, path })
    }

    /// Returns how the name of the file begins. ONNX Runtime adds the time.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Counts the nodes that the processor computed.
    pub(crate) fn share_of_cpu(&self) -> Result<CpuShare> {
        let entries = fs::read_dir(&self.folder).map_err(|source| failed(&self.folder, source))?;
        let Some(file) = entries.flatten().next() else {
            return Err(Error::new(ErrorKind::Backend, "ONNX Runtime wrote no profile"));
        };
        let text = bounded::text(&file.path(), MOST)?;
        let events: Vec<Value> = serde_json::from_str(&text).map_err(|source| {
            Error::new(ErrorKind::Backend, "the profile of ONNX Runtime is not valid JSON")
                .with_source(source)
        })?;
        Ok(share_of_cpu(&events))
    }
}

impl Drop for Profile {
    fn drop(&mut self) {
        // A profile has nothing of a conversation; one that cannot be removed is left to the system.
        fs::remove_dir_all(&self.folder).ok();
    }
}

/// Each run of a node is an event: `{"cat": "Node", "name": "/lm_head/MatMul_kernel_time", "args": {"op_name": "MatMul",
/// "provider": "CPUExecutionProvider"}}`.
fn share_of_cpu(events: &[Value]) -> CpuShare {
    let mut all = BTreeSet::new();
    let mut on_cpu = BTreeMap::new();
    for event in events.iter().filter(|event| event["cat"] == "Node") {
        let Some(name) = event["name"].as_str().and_then(|name| name.strip_suffix("_kernel_time")) else {
            continue;
        };
        let Some(provider) = event.pointer("/args/provider").and_then(Value::as_str) else { continue };
        all.insert(name);
        if provider == PROCESSOR {
            let operator = event.pointer("/args/op_name").and_then(Value::as_str);
            on_cpu.insert(name, operator.unwrap_or_default());
        }
    }
    let mut share = CpuShare { nodes: all.len(), ..CpuShare::default() };
    for operator in on_cpu.into_values() {
        *share.operators.entry(operator.to_owned()).or_default() += 1;
    }
    share
}

fn failed(folder: &Path, source: std::io::Error) -> Error {
    Error::new(ErrorKind::Backend, format!("could not write a profile in {folder:?}")).with_source(source)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn ran(name: &str, operator: &str, provider: &str) -> Value {
        json!({"cat": "Node", "name": name, "args": {"op_name": operator, "provider": provider}})
    }

    #[test]
    fn a_node_counts_once() {
        let cuda = "CUDAExecutionProvider";
        let events = [
            json!({"cat": "Session", "name": "model_loading_uri"}),
            ran("/a_kernel_time", "MatMul", cuda),
            ran("/b_kernel_time", "Shape", PROCESSOR),
            ran("/b_kernel_time", "Shape", PROCESSOR),
            ran("/c_kernel_time", "Shape", PROCESSOR),
            ran("/c_fence_before", "Shape", PROCESSOR),
        ];
        let share = share_of_cpu(&events);
        assert_eq!((share.nodes, share.on_cpu()), (3, 2));
        assert_eq!(share.operators, BTreeMap::from([("Shape".to_owned(), 2)]));
    }
}
