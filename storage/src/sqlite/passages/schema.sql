-- Format 1. `docs/storage-format.md` explains each column.

CREATE TABLE settings (
    json TEXT NOT NULL
) STRICT;

CREATE TABLE owners (
    key INTEGER PRIMARY KEY,
    name TEXT NOT NULL UNIQUE,
    passages INTEGER NOT NULL,
    words INTEGER NOT NULL,
    removed BLOB NOT NULL,
    version BLOB NOT NULL
) STRICT;

-- Keys are never used twice: blocks may have those of removed passages.
CREATE TABLE passages (
    key INTEGER PRIMARY KEY AUTOINCREMENT,
    owner INTEGER NOT NULL REFERENCES owners (key),
    id TEXT NOT NULL,
    source TEXT,
    digest BLOB NOT NULL,
    length INTEGER NOT NULL,
    body TEXT NOT NULL,
    checksum INTEGER NOT NULL,
    UNIQUE (owner, id)
) STRICT;

CREATE INDEX passages_by_source ON passages (owner, source);

CREATE TABLE metadata (
    passage INTEGER NOT NULL REFERENCES passages (key) ON DELETE CASCADE,
    owner INTEGER NOT NULL,
    place TEXT NOT NULL,
    value BLOB NOT NULL,
    PRIMARY KEY (passage, place)
) STRICT, WITHOUT ROWID;

CREATE INDEX metadata_by_value ON metadata (owner, place, value, passage);

-- The passages that have a word. Its scores are those of one owner: a full-text index would count the passages of all.
CREATE TABLE blocks (
    owner INTEGER NOT NULL,
    word TEXT NOT NULL,
    first INTEGER NOT NULL,
    postings BLOB NOT NULL,
    PRIMARY KEY (owner, word, first)
) STRICT, WITHOUT ROWID;

CREATE TABLE vectors (
    owner INTEGER NOT NULL,
    passage INTEGER NOT NULL REFERENCES passages (key) ON DELETE CASCADE,
    vector BLOB NOT NULL,
    PRIMARY KEY (owner, passage)
) STRICT, WITHOUT ROWID;

CREATE INDEX vectors_by_passage ON vectors (passage);
