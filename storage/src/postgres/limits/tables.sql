-- Format 1. `docs/storage-format.md` explains each column.

CREATE TABLE limits (
    version INTEGER NOT NULL,
    day BIGINT NOT NULL
);

INSERT INTO limits (version, day) VALUES (1, 0);

-- Pages with free space: a new version of a row then needs no new entry of the index.
CREATE TABLE rates (
    key BYTEA PRIMARY KEY,
    debt BIGINT NOT NULL,
    seen BIGINT NOT NULL,
    granted BOOLEAN NOT NULL,
    is_new BOOLEAN NOT NULL
) WITH (fillfactor = 60);

CREATE TABLE budgets (
    key BYTEA PRIMARY KEY,
    day BIGINT NOT NULL,
    until BIGINT,
    units NUMERIC(20, 0) NOT NULL,
    granted BOOLEAN NOT NULL,
    is_new BOOLEAN NOT NULL
) WITH (fillfactor = 60);
