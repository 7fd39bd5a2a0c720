//! Flows: conversations with states and conditions as data.
