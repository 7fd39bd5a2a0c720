-- Format 1. `docs/storage-format.md` explains each column.

CREATE TABLE replies (
    key BLOB NOT NULL PRIMARY KEY,
    reply TEXT NOT NULL,
    checksum INTEGER NOT NULL,
    bytes INTEGER NOT NULL,
    used INTEGER NOT NULL
) STRICT;

CREATE INDEX replies_by_use ON replies (used);

CREATE TABLE kept (
    bytes INTEGER NOT NULL,
    uses INTEGER NOT NULL
) STRICT;

INSERT INTO kept (bytes, uses) VALUES (0, 0);
