-- For the role subagents_submit: hand runs over, follow and command those that it submitted.
-- All of them may be asked again where an answer was lost.

-- The outside of an order is {runId, sessionId, name, tag, attemptsMax}.  What is refused is noted, and
-- the others are taken all the same.
CREATE OR REPLACE FUNCTION subagents.submit(p_call text, p_attached boolean, p_outsides jsonb[],
    p_orders text[])
RETURNS TABLE (run_id text, refused text) LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, subagents, pg_temp AS $$
DECLARE
    each jsonb;
    place integer := 0;
    problem text;
BEGIN
    IF p_call !~ '^[A-Za-z0-9_-]{1,40}$' OR cardinality(p_orders) > 1000
        OR cardinality(p_orders) <> cardinality(p_outsides)
    THEN
        RAISE EXCEPTION 'a call of this name or size is refused' USING ERRCODE = 'SA002';
    END IF;
    INSERT INTO call (id, attached) VALUES (p_call, p_attached)
        ON CONFLICT (id) DO UPDATE SET seen_at = clock_timestamp()
        WHERE call.submitter = session_user;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'the call % is of another submitter', p_call USING ERRCODE = 'SA003';
    END IF;
    FOREACH each IN ARRAY p_outsides LOOP
        place := place + 1;
        problem := order_problem(each, p_orders[place]);
        run_id := left(coalesce(each ->> 'runId', ''), 64);
        refused := coalesce(problem, '');
        IF problem IS NOT NULL THEN
            INSERT INTO refused_order (run_id, submitter, refused_by, reason)
                VALUES (submit.run_id, session_user, 'the database', problem);
        ELSE
            INSERT INTO run (id, call_id, session_id, name, tag, attempts_max, travel_order)
                VALUES (submit.run_id, p_call, each ->> 'sessionId', each ->> 'name',
                    each ->> 'tag', (each ->> 'attemptsMax')::integer, p_orders[place])
                ON CONFLICT (id) DO NOTHING;
            IF FOUND THEN
                UPDATE run SET job_id = queue_run(id, tag) WHERE id = submit.run_id;
            ELSIF NOT EXISTS (SELECT FROM run WHERE id = submit.run_id AND call_id = p_call) THEN
                refused := 'there is another run with this id';
            END IF;
        END IF;
        RETURN NEXT;
    END LOOP;
END;
$$;

-- What is wrong with the outside of an order, NULL if nothing is; its inside is its worker's affair.
CREATE OR REPLACE FUNCTION subagents.order_problem(p_outside jsonb, p_order text)
RETURNS text LANGUAGE plpgsql SET search_path = pg_catalog, subagents, pg_temp AS $$
BEGIN
    IF jsonb_typeof(p_outside) <> 'object' THEN RETURN 'it is no object'; END IF;
    IF EXISTS (SELECT FROM jsonb_object_keys(p_outside) key WHERE key NOT IN
        ('runId', 'sessionId', 'name', 'tag', 'attemptsMax'))
    THEN RETURN 'it has an unknown field'; END IF;
    IF coalesce(p_outside ->> 'runId', '') !~ '^[A-Za-z0-9_-]{1,64}$' THEN RETURN 'its id'; END IF;
    IF coalesce(p_outside ->> 'sessionId', '') !~ '^[A-Za-z0-9_-]{1,64}$'
    THEN RETURN 'the id of its session'; END IF;
    IF coalesce(p_outside ->> 'tag', '') !~ '^[a-z0-9][a-z0-9._-]{0,62}$' THEN RETURN 'its tag'; END IF;
    IF coalesce(jsonb_typeof(p_outside -> 'name'), '') <> 'string'
        OR length(p_outside ->> 'name') > 200 OR p_outside ->> 'name' ~ '[[:cntrl:]]'
    THEN RETURN 'its name'; END IF;
    IF coalesce(p_outside ->> 'attemptsMax', '') !~ '^([1-9]|10)$'
    THEN RETURN 'its number of attempts'; END IF;
    IF octet_length(p_order) > 16777216 THEN RETURN 'it is larger than 16 MB'; END IF;
    IF NOT is_object(p_order) THEN RETURN 'it has no order'; END IF;
    RETURN NULL;
END;
$$;

CREATE OR REPLACE FUNCTION subagents.beat_call(p_call text)
RETURNS void LANGUAGE sql SECURITY DEFINER
SET search_path = pg_catalog, subagents, pg_temp AS $$
    UPDATE call SET seen_at = clock_timestamp() WHERE id = p_call AND submitter = session_user;
$$;

CREATE OR REPLACE FUNCTION subagents.run_states(p_runs text[])
RETURNS TABLE (run_id text, state text, attempt integer, worker text, host text,
    last_number integer, result text, reason text, submitted_ms bigint, begun_ms bigint,
    ended_ms bigint, behind integer)
LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, subagents, pg_temp AS $$
    SELECT r.id, r.state, r.attempt, coalesce(w.name, ''), coalesce(w.host, ''), r.last_number,
        r.result, r.reason, as_ms(r.submitted_at), as_ms(r.begun_at), as_ms(r.ended_at),
        CASE WHEN r.state = 'queued' THEN (SELECT count(*)::integer FROM run o
            WHERE o.state = 'queued' AND o.tag = r.tag AND o.queued_at < r.queued_at) ELSE 0 END
    FROM run r LEFT JOIN worker w ON w.id = r.worker
    WHERE r.id = ANY (p_runs) AND r.submitter = session_user;
$$;

-- The next records of an attempt, in order: at most 500, and few more than 4 MB.
CREATE OR REPLACE FUNCTION subagents.records_after(p_run text, p_attempt integer, p_number integer)
RETURNS TABLE (number integer, file text, place bigint, data bytea)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, subagents, pg_temp AS $$
DECLARE
    total bigint := 0;
BEGIN
    PERFORM submitted_run(p_run);
    FOR number, file, place, data IN
        SELECT r.number, r.file, r.place, r.data FROM record r
        WHERE r.run_id = p_run AND r.attempt = p_attempt AND r.number > p_number
        ORDER BY r.number LIMIT 500
    LOOP
        RETURN NEXT;
        total := total + octet_length(data);
        EXIT WHEN total > 4194304;
    END LOOP;
END;
$$;

-- Whoever submitted the runs has all of them: what they recorded need not be kept here.
CREATE OR REPLACE FUNCTION subagents.fetched(p_runs text[])
RETURNS void LANGUAGE sql SECURITY DEFINER
SET search_path = pg_catalog, subagents, pg_temp AS $$
    WITH done AS (
        UPDATE run SET fetched_at = clock_timestamp()
        WHERE id = ANY (p_runs) AND submitter = session_user AND ended_at IS NOT NULL
        RETURNING id
    )
    DELETE FROM record WHERE run_id IN (SELECT id FROM done);
$$;

-- A run that nobody has begun is stopped here; otherwise its worker takes the command.
CREATE OR REPLACE FUNCTION subagents.command(p_token text, p_run text, p_kind text, p_content text)
RETURNS bigint LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, subagents, pg_temp AS $$
DECLARE
    its subagents.run;
    command_id bigint;
BEGIN
    IF octet_length(p_content) > 1048576 OR length(p_token) > 64 THEN
        RAISE EXCEPTION 'a command of that size is refused' USING ERRCODE = 'SA002';
    END IF;
    PERFORM submitted_run(p_run);
    SELECT * INTO its FROM run WHERE id = p_run FOR UPDATE;
    INSERT INTO command (token, run_id, kind, content) VALUES (p_token, p_run, p_kind, p_content)
        ON CONFLICT (token) DO NOTHING RETURNING id INTO command_id;
    IF command_id IS NULL THEN
        RETURN (SELECT id FROM command WHERE token = p_token AND by_role = session_user);
    END IF;
    IF its.state = 'queued' AND p_kind IN ('stop', 'kill') THEN
        PERFORM end_run(p_run, 'stopped', 'stopped before a worker took it');
        UPDATE command SET taken_at = clock_timestamp(), status = 'done' WHERE id = command_id;
    ELSIF its.state IN ('claimed', 'begun') THEN
        PERFORM tell_worker(its.worker, p_run);
    END IF;
    RETURN command_id;
END;
$$;

-- What became of a command: NULL while nobody has taken it.
CREATE OR REPLACE FUNCTION subagents.command_status(p_command bigint)
RETURNS text LANGUAGE sql SECURITY DEFINER
SET search_path = pg_catalog, subagents, pg_temp AS $$
    SELECT status FROM command
    WHERE id = p_command AND by_role = session_user AND taken_at IS NOT NULL;
$$;
