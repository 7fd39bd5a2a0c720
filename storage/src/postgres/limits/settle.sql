-- Replaces $3 reserved units of the day $2 by $4 used ones. The budget of another day has no such reservation.
UPDATE budgets
SET units = LEAST(GREATEST(units - $3::text::numeric, 0) + $4::text::numeric, 18446744073709551615)
WHERE key = $1 AND day = $2
