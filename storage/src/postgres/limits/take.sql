-- Takes calls of $2 nanoseconds where the debt is at most $3 then. The first calls of a key always fit.
--
-- The row is locked before it is read, so callers take turns. `EXCLUDED.seen` was read from the clock once, perhaps before waiting for
-- the lock; the debt is then a little too large, and never too small. A clock that was set back removes nothing of the debt.
INSERT INTO rates AS known (key, debt, seen, granted, is_new)
VALUES ($1, $2, (extract(epoch FROM clock_timestamp()) * 1000000)::bigint * 1000, TRUE, TRUE)
ON CONFLICT (key) DO UPDATE SET (debt, seen, granted, is_new) = (
    SELECT
        CASE WHEN owed <= $3 - $2 THEN owed + $2 ELSE owed END,
        GREATEST(known.seen, EXCLUDED.seen),
        owed <= $3 - $2,
        FALSE
    FROM (SELECT GREATEST(known.debt - GREATEST(EXCLUDED.seen - known.seen, 0), 0) AS owed) AS present
)
RETURNING debt, granted, is_new
