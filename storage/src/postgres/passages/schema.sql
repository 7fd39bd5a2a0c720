-- Format 1. `docs/storage-format.md` explains each column.

CREATE TABLE passage_settings (
    version INTEGER NOT NULL,
    json TEXT NOT NULL
);

CREATE TABLE owners (
    key BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    name TEXT COLLATE "C" NOT NULL UNIQUE,
    passages BIGINT NOT NULL DEFAULT 0,
    words BIGINT NOT NULL DEFAULT 0,
    removed BYTEA NOT NULL DEFAULT '',
    version BYTEA NOT NULL
);

-- Names are bytes, because a text cannot hold every character. Bodies are JSON, which escapes those.
CREATE TABLE passages (
    key BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    owner BIGINT NOT NULL REFERENCES owners (key),
    id BYTEA NOT NULL,
    source BYTEA,
    digest BYTEA NOT NULL,
    length BIGINT NOT NULL,
    body TEXT NOT NULL,
    checksum BIGINT NOT NULL
);

-- An index has no room for long names.
CREATE UNIQUE INDEX passages_by_id ON passages (owner, sha256(id));
CREATE INDEX passages_by_source ON passages (owner, sha256(source));

CREATE TABLE metadata (
    passage BIGINT NOT NULL REFERENCES passages (key) ON DELETE CASCADE,
    owner BIGINT NOT NULL,
    place BYTEA NOT NULL,
    value BYTEA NOT NULL,
    PRIMARY KEY (passage, place)
);

CREATE INDEX metadata_by_value ON metadata (owner, place, value, passage);

-- The passages that have a word, in the form of the SQLite tables.
CREATE TABLE blocks (
    owner BIGINT NOT NULL,
    word TEXT COLLATE "C" NOT NULL,
    first BIGINT NOT NULL,
    postings BYTEA NOT NULL,
    PRIMARY KEY (owner, word, first)
);

-- Compressing a kilobyte of small numbers takes longer than storing it.
ALTER TABLE blocks ALTER COLUMN postings SET STORAGE EXTERNAL;
