//! Pages of the documentation that show data: each block is what really happened.

use std::path::Path;

/// JSON as people read it.
pub(crate) fn pretty(value: &impl serde::Serialize) -> String {
    serde_json::to_string_pretty(value).unwrap() + "\n"
}

/// Compares what stands in a page of the documentation behind each `<!-- data: NAME -->`, or writes it.
pub(crate) fn compare(page: &str, blocks: &[(&str, String)]) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs").join(page);
    let mut document = std::fs::read_to_string(&path).unwrap();
    for (name, data) in blocks {
        let marker = format!("<!-- data: {name} -->\n```");
        let start = document.find(&marker).unwrap_or_else(|| panic!("no block {name:?}")) + marker.len();
        let start = start + document[start..].find('\n').unwrap() + 1;
        let end = start + document[start..].find("```\n").unwrap();
        let data = if data.ends_with('\n') { data.clone() } else { format!("{data}\n") };
        if std::env::var_os("ALLOQUY_UPDATE_DOCS").is_some() {
            document.replace_range(start..end, &data);
        } else {
            assert_eq!(&document[start..end], data, "block {name:?}: write it with ALLOQUY_UPDATE_DOCS=1");
        }
    }
    if std::env::var_os("ALLOQUY_UPDATE_DOCS").is_some() {
        std::fs::write(path, document).unwrap();
    }
}
