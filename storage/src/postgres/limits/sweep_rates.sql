-- Removes rates without a debt among the eight that follow a new one, unless a caller uses them now.
DELETE FROM rates
WHERE key IN (
    SELECT key
    FROM rates
    WHERE key = ANY (ARRAY (SELECT key FROM rates WHERE key > $1 ORDER BY key LIMIT 8))
        AND debt <= (extract(epoch FROM clock_timestamp()) * 1000000)::bigint * 1000 - seen
    FOR UPDATE SKIP LOCKED
)
