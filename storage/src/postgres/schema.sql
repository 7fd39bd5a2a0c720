-- Format 1. `docs/storage-format.md` explains each column.

CREATE TABLE format (
    version INTEGER NOT NULL
);

CREATE TABLE conversations (
    key BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    owner TEXT COLLATE "C" NOT NULL,
    id TEXT COLLATE "C" NOT NULL,
    record TEXT NOT NULL,
    checksum BIGINT NOT NULL,
    head TEXT,
    nodes BIGINT NOT NULL DEFAULT 0,
    created BIGINT NOT NULL,
    updated BIGINT NOT NULL,
    UNIQUE (owner, id)
);

CREATE INDEX conversations_by_update ON conversations (owner, updated, id);
CREATE INDEX conversations_by_creation ON conversations (owner, created, id);

-- A place is the digest of its JSON pointer: pointers may be longer than an entry of an index, and hold zeros.
CREATE TABLE metadata (
    conversation BIGINT NOT NULL REFERENCES conversations (key) ON DELETE CASCADE,
    owner TEXT COLLATE "C" NOT NULL,
    place BYTEA NOT NULL,
    value BYTEA NOT NULL,
    PRIMARY KEY (conversation, place)
);

CREATE INDEX metadata_by_value ON metadata (owner, place, value, conversation);

-- `terms` is what the index is asked for, or null where there are more of them than it takes; `words` decides.
CREATE TABLE nodes (
    position BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    conversation BIGINT NOT NULL REFERENCES conversations (key) ON DELETE CASCADE,
    id TEXT COLLATE "C" NOT NULL,
    parent TEXT COLLATE "C",
    body TEXT NOT NULL,
    checksum BIGINT NOT NULL,
    pruned BOOLEAN NOT NULL DEFAULT FALSE,
    words TEXT NOT NULL,
    terms TSVECTOR,
    UNIQUE (conversation, id)
);

CREATE INDEX nodes_by_term ON nodes USING gin (terms);
CREATE INDEX nodes_beyond_terms ON nodes (position) WHERE terms IS NULL;

CREATE TABLE tombstones (
    conversation BIGINT NOT NULL REFERENCES conversations (key) ON DELETE CASCADE,
    node TEXT COLLATE "C" NOT NULL,
    PRIMARY KEY (conversation, node)
);

CREATE TABLE blobs (
    owner TEXT COLLATE "C" NOT NULL,
    digest TEXT COLLATE "C" NOT NULL,
    put BIGINT NOT NULL,
    bytes BYTEA NOT NULL,
    PRIMARY KEY (owner, digest)
);

CREATE TABLE uses (
    conversation BIGINT NOT NULL REFERENCES conversations (key) ON DELETE CASCADE,
    owner TEXT COLLATE "C" NOT NULL,
    digest TEXT COLLATE "C" NOT NULL,
    times BIGINT NOT NULL,
    PRIMARY KEY (conversation, digest)
);

CREATE INDEX uses_by_digest ON uses (owner, digest);
