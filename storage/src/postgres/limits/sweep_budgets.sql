-- Removes budgets without effect among the eight that follow a new one, unless a caller uses them now.
--
-- `limits.day` remembers the day. Otherwise a clock that is set back would let the budget of a day begin again.
WITH present AS (
    SELECT floor(extract(epoch FROM clock_timestamp()) / 86400)::bigint AS today
), gone AS (
    DELETE FROM budgets
    WHERE key IN (
        SELECT key
        FROM budgets
        WHERE key = ANY (ARRAY (SELECT key FROM budgets WHERE key > $1 ORDER BY key LIMIT 8))
            AND until <= (SELECT today FROM present)
        FOR UPDATE SKIP LOCKED
    )
    RETURNING key
)
UPDATE limits
SET day = (SELECT today FROM present)
WHERE day < (SELECT today FROM present) AND EXISTS (SELECT FROM gone)
