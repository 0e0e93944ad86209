-- What the other functions are made of.  Nobody may call these from outside.

CREATE OR REPLACE FUNCTION subagents.queue_run(p_run text, p_tag text, p_wait interval DEFAULT '0')
RETURNS bigint LANGUAGE sql
SET search_path = pg_catalog, subagents_queue, pg_temp AS $$
    SELECT (procrastinate_defer_jobs_v1(ARRAY[ROW(
        p_tag, 'subagents.run', 0, NULL, NULL, jsonb_build_object('run_id', p_run),
        CASE WHEN p_wait > '0' THEN clock_timestamp() + p_wait END
    )::procrastinate_job_to_defer_v1]))[1];
$$;

CREATE OR REPLACE FUNCTION subagents.drop_job(p_job bigint)
RETURNS void LANGUAGE sql
SET search_path = pg_catalog, subagents_queue, pg_temp AS $$
    DELETE FROM procrastinate_jobs WHERE id = p_job;
$$;

-- Whoever waits for the call looks again: at that run, which has records up to that number.
CREATE OR REPLACE FUNCTION subagents.tell_caller(p_call text, p_run text, p_number integer)
RETURNS void LANGUAGE sql SET search_path = pg_catalog, pg_temp AS $$
    SELECT pg_notify('subagents_call_' || p_call, p_run || ' ' || p_number);
$$;

CREATE OR REPLACE FUNCTION subagents.tell_worker(p_worker text, p_run text)
RETURNS void LANGUAGE sql SET search_path = pg_catalog, pg_temp AS $$
    SELECT pg_notify('subagents_worker_' || md5(p_worker), p_run);
$$;

-- The run goes to whoever is free; what its last attempt recorded stays with that attempt.
CREATE OR REPLACE FUNCTION subagents.queue_again(p_run text)
RETURNS void LANGUAGE plpgsql SET search_path = pg_catalog, subagents, pg_temp AS $$
DECLARE
    its subagents.run;
BEGIN
    SELECT * INTO its FROM run WHERE id = p_run FOR UPDATE;
    PERFORM drop_job(its.job_id);
    UPDATE run SET state = 'queued', worker = NULL, token = NULL, seen_at = NULL,
        queued_at = clock_timestamp(), job_id = queue_run(p_run, its.tag) WHERE id = p_run;
    PERFORM tell_caller(its.call_id, p_run, 0);
END;
$$;

CREATE OR REPLACE FUNCTION subagents.end_run(p_run text, p_state text, p_reason text)
RETURNS void LANGUAGE plpgsql SET search_path = pg_catalog, subagents, pg_temp AS $$
DECLARE
    its subagents.run;
BEGIN
    UPDATE run SET state = p_state, reason = p_reason, ended_at = clock_timestamp()
        WHERE id = p_run AND state IN ('queued', 'claimed', 'begun') RETURNING * INTO its;
    IF FOUND THEN
        PERFORM drop_job(its.job_id);
        PERFORM tell_caller(its.call_id, p_run, 0);
    END IF;
END;
$$;

-- The run of an attempt that still counts, locked; SA001 for any other.
CREATE OR REPLACE FUNCTION subagents.own_run(p_run text, p_attempt integer)
RETURNS subagents.run LANGUAGE plpgsql SET search_path = pg_catalog, subagents, pg_temp AS $$
DECLARE
    its subagents.run;
BEGIN
    SELECT run.* INTO its FROM run WHERE id = p_run FOR UPDATE;
    IF its.id IS NULL OR its.attempt <> p_attempt OR its.state NOT IN ('claimed', 'begun')
        OR NOT EXISTS (SELECT FROM worker w WHERE w.id = its.worker AND w.by_role = session_user)
    THEN
        RAISE EXCEPTION 'attempt % of run % is over', p_attempt, p_run USING ERRCODE = 'SA001';
    END IF;
    RETURN its;
END;
$$;

-- The run of whoever asks, as it submitted it; SA003 for any other.
CREATE OR REPLACE FUNCTION subagents.submitted_run(p_run text)
RETURNS subagents.run LANGUAGE plpgsql SET search_path = pg_catalog, subagents, pg_temp AS $$
DECLARE
    its subagents.run;
BEGIN
    SELECT run.* INTO its FROM run WHERE id = p_run AND submitter = session_user;
    IF its.id IS NULL THEN
        RAISE EXCEPTION 'there is no run % of %', p_run, session_user USING ERRCODE = 'SA003';
    END IF;
    RETURN its;
END;
$$;

CREATE OR REPLACE FUNCTION subagents.schema_version()
RETURNS TABLE (version integer, id text) LANGUAGE sql SECURITY DEFINER
SET search_path = pg_catalog, subagents, pg_temp AS $$
    SELECT version, id::text FROM cluster;
$$;

CREATE OR REPLACE FUNCTION subagents.as_ms(p_at timestamptz)
RETURNS bigint LANGUAGE sql IMMUTABLE SET search_path = pg_catalog, pg_temp AS $$
    SELECT (extract(epoch FROM p_at) * 1000)::bigint;
$$;

-- Of the type json, which takes every escape that a text of a child may contain.
CREATE OR REPLACE FUNCTION subagents.is_object(p_text text)
RETURNS boolean LANGUAGE plpgsql IMMUTABLE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    RETURN coalesce(json_typeof(p_text::json), '') = 'object';
EXCEPTION WHEN invalid_text_representation THEN
    RETURN false;
END;
$$;

CREATE OR REPLACE FUNCTION subagents.is_idle(p_worker text)
RETURNS boolean LANGUAGE sql STABLE SET search_path = pg_catalog, subagents, pg_temp AS $$
    SELECT NOT EXISTS (SELECT FROM run WHERE worker = p_worker AND state IN ('claimed', 'begun'));
$$;
