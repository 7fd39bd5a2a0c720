-- Format 1. `docs/storage-format.md` explains each column.

CREATE TABLE rates (
    key BLOB NOT NULL PRIMARY KEY,
    debt INTEGER NOT NULL,
    seen INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE budgets (
    key BLOB NOT NULL PRIMARY KEY,
    day INTEGER NOT NULL,
    until INTEGER,
    units TEXT NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE removed (
    day INTEGER NOT NULL
) STRICT;

INSERT INTO removed (day) VALUES (0);
