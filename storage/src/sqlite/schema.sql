-- Format 3. `docs/storage-format.md` explains each column.

CREATE TABLE owners (
    key INTEGER PRIMARY KEY,
    name TEXT NOT NULL UNIQUE
) STRICT;

CREATE TABLE conversations (
    key INTEGER PRIMARY KEY,
    owner INTEGER NOT NULL REFERENCES owners (key),
    id TEXT NOT NULL,
    record TEXT NOT NULL,
    checksum INTEGER NOT NULL,
    head TEXT,
    nodes INTEGER NOT NULL DEFAULT 0,
    created INTEGER NOT NULL,
    updated INTEGER NOT NULL,
    UNIQUE (owner, id)
) STRICT;

CREATE INDEX conversations_by_update ON conversations (owner, updated, id);
CREATE INDEX conversations_by_creation ON conversations (owner, created, id);

CREATE TABLE metadata (
    conversation INTEGER NOT NULL REFERENCES conversations (key) ON DELETE CASCADE,
    owner INTEGER NOT NULL,
    place TEXT NOT NULL,
    value BLOB NOT NULL,
    PRIMARY KEY (conversation, place)
) STRICT, WITHOUT ROWID;

CREATE INDEX metadata_by_value ON metadata (owner, place, value, conversation);

CREATE TABLE nodes (
    position INTEGER PRIMARY KEY,
    conversation INTEGER NOT NULL REFERENCES conversations (key) ON DELETE CASCADE,
    id TEXT NOT NULL,
    parent INTEGER,
    body TEXT NOT NULL,
    checksum INTEGER NOT NULL,
    pruned INTEGER NOT NULL DEFAULT 0,
    UNIQUE (conversation, id)
) STRICT;

-- One row: up to which position the words of nodes are written. One batch of them costs hardly more than one node.
CREATE TABLE progress (
    words INTEGER NOT NULL
) STRICT;
INSERT INTO progress (words) VALUES (0);

CREATE TABLE tombstones (
    conversation INTEGER NOT NULL REFERENCES conversations (key) ON DELETE CASCADE,
    node TEXT NOT NULL,
    PRIMARY KEY (conversation, node)
) STRICT, WITHOUT ROWID;

-- The tokens come from the code that all stores share: this tokenizer only cuts at spaces.
CREATE VIRTUAL TABLE words USING fts5 (
    owner, text, content = '', contentless_delete = 1, tokenize = 'ascii'
);

-- Sixteen parts of the index are merged at a time, not four: what a node's words cost grows with the number of merges.
INSERT INTO words (words, rank) VALUES ('automerge', 16), ('crisismerge', 64);

CREATE TABLE blobs (
    owner INTEGER NOT NULL REFERENCES owners (key),
    digest TEXT NOT NULL,
    put INTEGER NOT NULL,
    bytes BLOB NOT NULL,
    PRIMARY KEY (owner, digest)
) STRICT;

CREATE TABLE uses (
    conversation INTEGER NOT NULL REFERENCES conversations (key) ON DELETE CASCADE,
    digest TEXT NOT NULL,
    times INTEGER NOT NULL,
    PRIMARY KEY (conversation, digest)
) STRICT, WITHOUT ROWID;

CREATE INDEX uses_by_digest ON uses (digest, conversation);
