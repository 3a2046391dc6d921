-- One hour of a small shop. At 10:20 a change makes the payment service retry far more often; its
-- queue fills, it slows down, and orders begin to fail. A change of the mailer is unrelated.

CREATE TABLE services (name TEXT PRIMARY KEY);
INSERT INTO services VALUES ('store'), ('orders'), ('payment'), ('stock'), ('mailer');

CREATE TABLE calls (caller TEXT, callee TEXT);
INSERT INTO calls VALUES
    ('store', 'orders'), ('orders', 'payment'), ('orders', 'stock'), ('orders', 'mailer');

CREATE TABLE alerts (name TEXT, service TEXT, signal TEXT, started TEXT, message TEXT);
INSERT INTO alerts VALUES
    ('FailedOrders', 'orders', 'errors', '2026-03-02 10:24:00', 'more than 5 % of orders fail'),
    ('SlowStore', 'store', 'latency', '2026-03-02 10:25:00', 'p95 is above one second');

CREATE TABLE changes (at TEXT, service TEXT, field TEXT, old TEXT, new TEXT, author TEXT);
INSERT INTO changes VALUES
    ('2026-03-02 10:05:00', 'mailer', 'template.footer', 'winter', 'spring', 'kim'),
    ('2026-03-02 10:20:00', 'payment', 'retry.attempts', '3', '50', 'sam');

CREATE TABLE events (at TEXT, service TEXT, reason TEXT, message TEXT);
INSERT INTO events VALUES
    ('2026-03-02 10:22:00', 'payment', 'QueueFull', 'work queue can''t take more: 1000 of 1000'),
    ('2026-03-02 10:26:00', 'payment', 'QueueFull', 'work queue can''t take more: 1000 of 1000');

-- One point a minute; from 10:22 on payment is slow, and orders fail.
CREATE TABLE metrics (at TEXT, service TEXT, name TEXT, unit TEXT, value REAL);
WITH RECURSIVE minute(n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM minute WHERE n < 59)
INSERT INTO metrics
SELECT datetime('2026-03-02 10:00:00', '+' || n || ' minutes'), service, metric, unit,
    CASE WHEN n >= begins THEN bad ELSE good END + (n * 7 % 5) * noise
FROM minute, (
    SELECT 'payment' AS service, 'p95' AS metric, 'ms' AS unit,
        80.0 AS good, 2400.0 AS bad, 1.0 AS noise, 22 AS begins
    UNION ALL SELECT 'payment', 'queue', 'ratio', 0.1, 0.99, 0.001, 22
    UNION ALL SELECT 'orders', 'failed', 'ratio', 0.001, 0.3, 0.0001, 23
    UNION ALL SELECT 'orders', 'p95', 'ms', 120.0, 2600.0, 1.0, 23
    UNION ALL SELECT 'store', 'p95', 'ms', 200.0, 2800.0, 2.0, 23
    UNION ALL SELECT 'stock', 'p95', 'ms', 30.0, 30.0, 1.0, 60
    UNION ALL SELECT 'mailer', 'p95', 'ms', 40.0, 40.0, 1.0, 60
);
