-- Format 1. `docs/storage-format.md` explains each column.

CREATE TABLE conversations (
    key INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    record TEXT NOT NULL,
    head TEXT,
    nodes INTEGER NOT NULL DEFAULT 0,
    updated INTEGER NOT NULL
) STRICT;

CREATE INDEX conversations_by_update ON conversations (updated DESC, id);

CREATE TABLE nodes (
    position INTEGER PRIMARY KEY,
    conversation INTEGER NOT NULL REFERENCES conversations (key) ON DELETE CASCADE,
    id TEXT NOT NULL,
    parent TEXT,
    body TEXT NOT NULL,
    UNIQUE (conversation, id)
) STRICT;

CREATE TABLE blobs (
    digest TEXT PRIMARY KEY,
    bytes BLOB NOT NULL
) STRICT;
