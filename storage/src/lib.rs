//! Conversation stores: files and SQLite
