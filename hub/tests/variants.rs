//! The variants in the file lists of repositories. Each case is a file with a list in one of the forms that exporters write, the
//! variants in it with the files that each needs, and the variant that is chosen for so many megabytes of memory.
#![allow(clippy::unwrap_used, clippy::indexing_slicing)] // a test may panic

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use alloquy_hub::{HubFile, Listing, Machine, choose, variants};
use serde::Deserialize;

#[derive(Debug, Deserialize)]
struct Case {
    /// Sizes by path.
    files: BTreeMap<String, u64>,
    variants: BTreeMap<String, Vec<String>>,
    chosen: BTreeMap<String, String>,
}

impl Case {
    fn listing(&self) -> Listing {
        let files = self.files.iter().map(|(path, bytes)| HubFile::new(path, *bytes)).collect();
        Listing::new("tiny/model".parse().unwrap(), files)
    }
}

#[test]
fn every_list_has_its_variants() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/listings");
    let mut cases = 0;
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let case: Case = serde_json::from_str(&fs::read_to_string(&path).unwrap()).unwrap();
        let listing = case.listing();
        let mut found = BTreeMap::new();
        for variant in variants(&listing) {
            let mut files = variant.files.clone();
            files.sort();
            found.insert(variant.name, files);
        }
        assert_eq!(found, case.variants, "{path:?}");
        for (megabytes, name) in &case.chosen {
            let machine = Machine::with_memory(megabytes.parse::<u64>().unwrap() * 1_000_000);
            assert_eq!(
                &choose(&listing, None, machine).unwrap().variant.name,
                name,
                "{path:?}, {megabytes} MB"
            );
        }
        assert_eq!(choose(&listing, None, Machine::this()).is_err(), case.variants.is_empty(), "{path:?}");
        cases += 1;
    }
    assert!(cases >= 8);
}
