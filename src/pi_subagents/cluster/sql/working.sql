-- For the role subagents_work: take runs, say what they do, end them.  Every one of these names the
-- attempt; an attempt that was taken away is refused (SA001) here, not by the worker's politeness.

CREATE OR REPLACE FUNCTION subagents.register(p_worker text, p_host text, p_name text,
    p_tags text[], p_concurrency integer, p_versions jsonb, p_trusts text[])
RETURNS void LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, subagents, pg_temp AS $$
BEGIN
    IF p_worker !~ '^[A-Za-z0-9._-]{1,100}$' OR length(p_host) > 255 OR length(p_name) > 100
        OR cardinality(p_tags) NOT BETWEEN 1 AND 100 OR p_concurrency NOT BETWEEN 1 AND 10000
    THEN
        RAISE EXCEPTION 'a worker of this name or size is refused' USING ERRCODE = 'SA002';
    END IF;
    INSERT INTO worker (id, host, name, tags, concurrency, versions, trusts)
        VALUES (p_worker, p_host, p_name, p_tags, p_concurrency, p_versions, p_trusts)
        ON CONFLICT (id) DO UPDATE SET seen_at = clock_timestamp()
        WHERE worker.by_role = session_user;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'the worker % is of another role', p_worker USING ERRCODE = 'SA003';
    END IF;
END;
$$;

-- It has ended, and holds nothing any more.
CREATE OR REPLACE FUNCTION subagents.unregister(p_worker text)
RETURNS void LANGUAGE sql SECURITY DEFINER
SET search_path = pg_catalog, subagents, pg_temp AS $$
    DELETE FROM worker WHERE id = p_worker AND by_role = session_user AND is_idle(p_worker);
$$;

-- No row: the run is not to be had.  The token has the answer given again to whoever lost it.
CREATE OR REPLACE FUNCTION subagents.claim(p_run text, p_worker text, p_token text)
RETURNS TABLE (travel_order text, attempt integer, session_id text, name text, call_id text,
    attached boolean, submitter text)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, subagents, pg_temp AS $$
DECLARE
    is_draining boolean;
BEGIN
    SELECT draining INTO is_draining FROM worker WHERE id = p_worker AND by_role = session_user;
    IF is_draining IS NULL THEN
        RAISE EXCEPTION 'there is no worker %', p_worker USING ERRCODE = 'SA003';
    END IF;
    IF is_draining THEN  -- whose turn it was: the job is given back, for another worker
        UPDATE run r SET job_id = queue_run(r.id, r.tag, '1 second')
            WHERE r.id = p_run AND r.state = 'queued';
        RETURN;
    END IF;
    UPDATE run r SET state = 'claimed', attempt = r.attempt + 1, worker = p_worker,
        token = p_token, claimed_at = clock_timestamp(), seen_at = clock_timestamp(),
        last_number = 0
        WHERE r.id = p_run AND r.state = 'queued';
    IF FOUND THEN
        PERFORM tell_caller(r.call_id, p_run, 0) FROM run r WHERE r.id = p_run;
    END IF;
    RETURN QUERY SELECT r.travel_order, r.attempt, r.session_id, r.name, r.call_id, c.attached,
        r.submitter::text
        FROM run r JOIN call c ON c.id = r.call_id
        WHERE r.id = p_run AND r.worker = p_worker AND r.token = p_token AND r.state = 'claimed';
END;
$$;

-- From here on the prompt may be given, so that the run is not begun elsewhere.
CREATE OR REPLACE FUNCTION subagents.begin_run(p_run text, p_attempt integer)
RETURNS void LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, subagents, pg_temp AS $$
DECLARE
    its subagents.run := own_run(p_run, p_attempt);
BEGIN
    IF its.state = 'claimed' THEN
        UPDATE run SET state = 'begun', begun_at = clock_timestamp(), seen_at = clock_timestamp()
            WHERE id = p_run;
        PERFORM tell_caller(its.call_id, p_run, 0);
    END IF;
END;
$$;

-- A run that was claimed and not begun goes to another worker.
CREATE OR REPLACE FUNCTION subagents.give_back(p_run text, p_attempt integer)
RETURNS void LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, subagents, pg_temp AS $$
DECLARE
    its subagents.run := own_run(p_run, p_attempt);
BEGIN
    IF its.state = 'claimed' THEN PERFORM queue_again(p_run); END IF;
END;
$$;

-- In order, without gaps; what is there already (the answer was lost) is not written again.
CREATE OR REPLACE FUNCTION subagents.add_records(p_run text, p_attempt integer, p_first integer,
    p_files text[], p_places bigint[], p_data bytea[])
RETURNS void LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, subagents, pg_temp AS $$
DECLARE
    its subagents.run := own_run(p_run, p_attempt);
    last integer := p_first + cardinality(p_data) - 1;
    size bigint;
BEGIN
    SELECT coalesce(sum(octet_length(d)), 0) INTO size FROM unnest(p_data) d;
    IF p_first < 1 OR p_first > its.last_number + 1 OR cardinality(p_files) > 10000
        OR cardinality(p_files) <> cardinality(p_data)
        OR cardinality(p_places) <> cardinality(p_data)
        OR size > 33554432 OR its.bytes + size > 1073741824
        OR EXISTS (SELECT FROM unnest(p_files) f WHERE f !~ '^[a-z][a-z._-]{0,39}$')
        OR EXISTS (SELECT FROM unnest(p_places) place WHERE place < 0)
    THEN
        RAISE EXCEPTION 'records of run % that do not fit are refused', p_run
            USING ERRCODE = 'SA002';
    END IF;
    IF last <= its.last_number THEN RETURN; END IF;
    INSERT INTO record (run_id, attempt, number, file, place, data)
        SELECT p_run, p_attempt, p_first + i - 1, p_files[i], p_places[i], p_data[i]
        FROM generate_series(its.last_number - p_first + 2, cardinality(p_data)) i;
    UPDATE run SET last_number = last, bytes = bytes + size, seen_at = clock_timestamp()
        WHERE id = p_run;
    PERFORM tell_caller(its.call_id, p_run, last);
END;
$$;

-- Once: a second result of the same attempt is the answer that was lost, and changes nothing.
CREATE OR REPLACE FUNCTION subagents.finish(p_run text, p_attempt integer, p_result text)
RETURNS void LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, subagents, pg_temp AS $$
DECLARE
    its subagents.run;
BEGIN
    IF EXISTS (SELECT FROM run r JOIN worker w ON w.id = r.worker WHERE r.id = p_run
        AND r.attempt = p_attempt AND r.state = 'ended' AND w.by_role = session_user)
    THEN RETURN; END IF;
    its := own_run(p_run, p_attempt);
    IF octet_length(p_result) > 16777216 OR NOT is_object(p_result) THEN
        RAISE EXCEPTION 'a result of more than 16 MB, or that is no JSON, is refused' USING ERRCODE = 'SA002';
    END IF;
    UPDATE run SET state = 'ended', result = p_result, ended_at = clock_timestamp(),
        seen_at = clock_timestamp() WHERE id = p_run;
    UPDATE command SET taken_at = clock_timestamp(), status = 'ended'
        WHERE run_id = p_run AND taken_at IS NULL;
    PERFORM tell_caller(its.call_id, p_run, 0);
END;
$$;

-- An order that this worker does not carry out, with the result that says so.
CREATE OR REPLACE FUNCTION subagents.refuse_order(p_run text, p_attempt integer, p_reason text,
    p_result text)
RETURNS void LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, subagents, pg_temp AS $$
DECLARE
    its subagents.run := own_run(p_run, p_attempt);
BEGIN
    INSERT INTO refused_order (run_id, submitter, refused_by, reason)
        VALUES (p_run, its.submitter, its.worker, left(p_reason, 1000));
    PERFORM finish(p_run, p_attempt, p_result);
END;
$$;

-- The heartbeat of a worker: which of its runs are no longer its own, and whether it is to drain.
CREATE OR REPLACE FUNCTION subagents.hold(p_worker text, p_busy integer, p_runs text[],
    p_attempts integer[])
RETURNS TABLE (known boolean, draining boolean, lost text[])
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, subagents, pg_temp AS $$
BEGIN
    UPDATE worker w SET seen_at = clock_timestamp(), busy = p_busy
        WHERE w.id = p_worker AND w.by_role = session_user RETURNING w.draining INTO draining;
    known := FOUND;
    draining := coalesce(draining, false);
    WITH held AS (SELECT * FROM unnest(p_runs, p_attempts) h(id, attempt)),
    seen AS (
        UPDATE run r SET seen_at = clock_timestamp() FROM held h
        WHERE r.id = h.id AND r.attempt = h.attempt AND r.worker = p_worker AND hold.known
            AND r.state IN ('claimed', 'begun')
        RETURNING r.id
    )
    SELECT coalesce(array_agg(h.id), '{}') INTO lost FROM held h
        WHERE h.id NOT IN (SELECT id FROM seen);
    RETURN NEXT;
END;
$$;

CREATE OR REPLACE FUNCTION subagents.commands_for(p_worker text)
RETURNS TABLE (id bigint, run_id text, attempt integer, kind text, content text)
LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, subagents, pg_temp AS $$
    SELECT c.id, c.run_id, r.attempt, c.kind, c.content
    FROM command c JOIN run r ON r.id = c.run_id JOIN worker w ON w.id = r.worker
    WHERE r.worker = p_worker AND w.by_role = session_user AND c.taken_at IS NULL
        AND r.state IN ('claimed', 'begun')
    ORDER BY c.id LIMIT 100;
$$;

CREATE OR REPLACE FUNCTION subagents.command_taken(p_command bigint, p_status text)
RETURNS void LANGUAGE sql SECURITY DEFINER
SET search_path = pg_catalog, subagents, pg_temp AS $$
    UPDATE command c SET taken_at = clock_timestamp(), status = left(p_status, 1000)
    FROM run r JOIN worker w ON w.id = r.worker
    WHERE c.id = p_command AND r.id = c.run_id AND w.by_role = session_user
        AND c.taken_at IS NULL;
$$;
