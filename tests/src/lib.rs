//! Tests that need several crates of the workspace at once. The library is empty: each file of `tests/` is a test.
