-- The tables of a cluster, once.  Nobody but their owner reaches them: everything goes through the
-- functions of the other files.  All times are this server's.

CREATE SCHEMA subagents;
REVOKE ALL ON SCHEMA subagents FROM PUBLIC;

CREATE TABLE subagents.cluster (
    version integer NOT NULL,
    id uuid NOT NULL DEFAULT gen_random_uuid(),
    queue_version text NOT NULL,  -- of Procrastinate, whose tables stand in subagents_queue
    keep interval NOT NULL DEFAULT '7 days',  -- how long what has ended is kept
    made_at timestamptz NOT NULL DEFAULT clock_timestamp()
);

CREATE TABLE subagents.call (
    id text PRIMARY KEY,
    submitter name NOT NULL DEFAULT session_user,  -- as the server knows it, not as somebody says
    attached boolean NOT NULL,  -- its runs end with it
    seen_at timestamptz NOT NULL DEFAULT clock_timestamp()
);

CREATE TABLE subagents.run (
    id text PRIMARY KEY,
    call_id text NOT NULL REFERENCES subagents.call,
    submitter name NOT NULL DEFAULT session_user,
    session_id text NOT NULL,
    name text NOT NULL,
    tag text NOT NULL,
    travel_order text NOT NULL,  -- JSON; jsonb would refuse what texts of children may contain
    state text NOT NULL DEFAULT 'queued'
        CHECK (state IN ('queued', 'claimed', 'begun', 'ended', 'lost', 'stopped')),
    attempt integer NOT NULL DEFAULT 0,
    attempts_max integer NOT NULL DEFAULT 1,
    worker text,
    token text,  -- of the claim, so that one whose answer was lost can be asked for again
    job_id bigint,
    last_number integer NOT NULL DEFAULT 0,  -- of this attempt's records
    bytes bigint NOT NULL DEFAULT 0,  -- of all attempts' records
    result text,  -- JSON as well
    reason text NOT NULL DEFAULT '',  -- why it ended without a result
    submitted_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    queued_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    claimed_at timestamptz,
    begun_at timestamptz,
    ended_at timestamptz,
    seen_at timestamptz,  -- when its worker last said that it is at it
    fetched_at timestamptz  -- when its caller had all of it
);
CREATE INDEX run_of_call ON subagents.run (call_id);
CREATE INDEX run_at_work ON subagents.run (seen_at) WHERE state IN ('claimed', 'begun');
CREATE INDEX run_queued ON subagents.run (queued_at) WHERE state = 'queued';
CREATE INDEX run_ended ON subagents.run (ended_at) WHERE ended_at IS NOT NULL;

-- What a run wrote: bytes at a place of one of its files, in the order in which they came.
CREATE TABLE subagents.record (
    run_id text NOT NULL REFERENCES subagents.run ON DELETE CASCADE,
    attempt integer NOT NULL,
    number integer NOT NULL,
    file text NOT NULL,
    place bigint NOT NULL,
    data bytea NOT NULL,
    at timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (run_id, attempt, number)
);

CREATE TABLE subagents.command (
    id bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY,
    token text NOT NULL UNIQUE,
    run_id text NOT NULL REFERENCES subagents.run ON DELETE CASCADE,
    kind text NOT NULL CHECK (kind IN ('stop', 'kill', 'steer', 'answer')),
    content text NOT NULL,
    by_role name NOT NULL DEFAULT session_user,
    at timestamptz NOT NULL DEFAULT clock_timestamp(),
    taken_at timestamptz,
    status text NOT NULL DEFAULT ''
);
CREATE INDEX command_waiting ON subagents.command (run_id) WHERE taken_at IS NULL;

CREATE TABLE subagents.worker (
    id text PRIMARY KEY,
    by_role name NOT NULL DEFAULT session_user,
    host text NOT NULL,
    name text NOT NULL,
    tags text[] NOT NULL,
    concurrency integer NOT NULL,
    busy integer NOT NULL DEFAULT 0,
    versions jsonb NOT NULL,
    trusts text[] NOT NULL,
    draining boolean NOT NULL DEFAULT false,
    started_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    seen_at timestamptz NOT NULL DEFAULT clock_timestamp()
);

-- Workspaces and sessions, called by the SHA-256 of their bytes.
CREATE TABLE subagents.pack (
    digest text PRIMARY KEY CHECK (digest ~ '^[0-9a-f]{64}$'),
    size bigint NOT NULL,
    parts integer NOT NULL,
    whole boolean NOT NULL DEFAULT false,
    by_role name NOT NULL DEFAULT session_user,
    seen_at timestamptz NOT NULL DEFAULT clock_timestamp()
);
CREATE TABLE subagents.pack_part (
    digest text NOT NULL REFERENCES subagents.pack ON DELETE CASCADE,
    part integer NOT NULL,
    data bytea NOT NULL,
    PRIMARY KEY (digest, part)
);
ALTER TABLE subagents.pack_part ALTER COLUMN data SET STORAGE EXTERNAL;  -- it is packed already

CREATE TABLE subagents.refused_order (
    id bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY,
    run_id text NOT NULL,
    submitter name NOT NULL,
    refused_by text NOT NULL,  -- this database, or a worker
    reason text NOT NULL,
    at timestamptz NOT NULL DEFAULT clock_timestamp()
);
