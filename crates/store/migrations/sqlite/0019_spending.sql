-- Whether the cost of a call is an estimate: set aside before it is made, or of a call that nobody counted.
ALTER TABLE brain_calls ADD COLUMN is_estimate INTEGER NOT NULL DEFAULT 0;
-- What was spent since a moment, without the calls that cost nothing.
CREATE INDEX brain_calls_by_cost ON brain_calls (created_at, cost_micro_usd)
    WHERE cost_micro_usd > 0;
