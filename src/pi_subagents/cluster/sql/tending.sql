-- What keeps a cluster in order.  Every worker sweeps; the rest is for the owner of the database.

-- Whatever was not heard of for 30 seconds: its runs go on elsewhere if nothing was begun, are lost
-- otherwise.  One at a time; whoever comes meanwhile does nothing.
CREATE OR REPLACE FUNCTION subagents.sweep()
RETURNS TABLE (queued integer, lost integer, stopped integer)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, subagents, subagents_queue, pg_temp AS $$
DECLARE
    each record;
    quiet constant interval := '30 seconds';
BEGIN
    queued := 0; lost := 0; stopped := 0;
    IF NOT pg_try_advisory_xact_lock(7283945) THEN RETURN NEXT; RETURN; END IF;
    FOR each IN SELECT * FROM run WHERE state IN ('claimed', 'begun')
        AND seen_at < clock_timestamp() - quiet FOR UPDATE SKIP LOCKED
    LOOP
        IF each.state = 'claimed' OR each.attempt < each.attempts_max THEN
            PERFORM queue_again(each.id);
            queued := queued + 1;
        ELSE
            PERFORM end_run(each.id, 'lost', 'its worker was not heard of for 30 seconds');
            lost := lost + 1;
        END IF;
    END LOOP;
    -- Their worker was killed between taking the job and claiming the run.
    FOR each IN SELECT r.* FROM run r
        LEFT JOIN procrastinate_jobs j ON j.id = r.job_id AND j.status = 'todo'
        WHERE r.state = 'queued' AND r.queued_at < clock_timestamp() - quiet AND j.id IS NULL
        FOR UPDATE OF r SKIP LOCKED
    LOOP
        PERFORM queue_again(each.id);
        queued := queued + 1;
    END LOOP;
    FOR each IN SELECT r.id, r.state, r.worker FROM run r JOIN call c ON c.id = r.call_id
        WHERE c.attached AND c.seen_at < clock_timestamp() - quiet
            AND r.state IN ('queued', 'claimed', 'begun')
            AND NOT EXISTS (SELECT FROM command o WHERE o.run_id = r.id AND o.kind = 'stop'
                AND o.token = 'abandoned ' || r.id)
        FOR UPDATE OF r SKIP LOCKED
    LOOP
        stopped := stopped + 1;
        IF each.state = 'queued' THEN
            PERFORM end_run(each.id, 'stopped', 'its caller was not heard of for 30 seconds');
        ELSE
            INSERT INTO command (token, run_id, kind, content)
                VALUES ('abandoned ' || each.id, each.id, 'stop', '');
            PERFORM tell_worker(each.worker, each.id);
        END IF;
    END LOOP;
    DELETE FROM procrastinate_jobs j USING run r
        WHERE j.id = r.job_id AND j.status <> 'todo' AND r.ended_at < clock_timestamp() - quiet;
    PERFORM prune((SELECT keep FROM cluster), 200);
    RETURN NEXT;
END;
$$;

-- What `prune` would remove.
CREATE OR REPLACE FUNCTION subagents.prunable(p_keep interval)
RETURNS TABLE (runs integer, packs integer, workers integer)
LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, subagents, pg_temp AS $$
    SELECT (SELECT count(*)::integer FROM run WHERE ended_at < clock_timestamp() - p_keep),
        (SELECT count(*)::integer FROM pack WHERE seen_at < clock_timestamp() - p_keep),
        (SELECT count(*)::integer FROM worker w
            WHERE seen_at < clock_timestamp() - greatest(p_keep, '1 hour') AND is_idle(w.id));
$$;

-- Remove what ended that long ago, at most that many runs at once.
CREATE OR REPLACE FUNCTION subagents.prune(p_keep interval, p_most integer)
RETURNS TABLE (runs integer, packs integer, workers integer)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, subagents, subagents_queue, pg_temp AS $$
BEGIN
    WITH old AS (SELECT id FROM run WHERE ended_at < clock_timestamp() - p_keep
        ORDER BY ended_at LIMIT p_most),
    gone AS (DELETE FROM run WHERE id IN (SELECT id FROM old) RETURNING 1)
    SELECT count(*) INTO runs FROM gone;
    DELETE FROM call c WHERE seen_at < clock_timestamp() - p_keep
        AND NOT EXISTS (SELECT FROM run WHERE call_id = c.id);
    WITH gone AS (DELETE FROM pack WHERE seen_at < clock_timestamp() - p_keep RETURNING 1)
    SELECT count(*) INTO packs FROM gone;
    WITH gone AS (DELETE FROM worker w WHERE seen_at < clock_timestamp() - greatest(p_keep, '1 hour')
        AND is_idle(w.id) RETURNING 1)
    SELECT count(*) INTO workers FROM gone;
    DELETE FROM refused_order WHERE at < clock_timestamp() - p_keep;
    DELETE FROM procrastinate_jobs j
        WHERE j.status NOT IN ('todo', 'doing')
        AND NOT EXISTS (SELECT FROM run WHERE job_id = j.id);
    RETURN NEXT;
END;
$$;

-- By hand: a run that is lost or stopped, or whose worker is dead, is begun once more; one whose
-- worker is alive only by force, and loses what that worker does.  An id may be shortened.
CREATE OR REPLACE FUNCTION subagents.requeue(p_run text, p_force boolean)
RETURNS TABLE (run_id text, was text, done boolean) LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, subagents, pg_temp AS $$
DECLARE
    ids text[];
    its subagents.run;
BEGIN
    SELECT array_agg(id) INTO ids FROM run WHERE left(id, length(p_run)) = p_run;
    IF cardinality(ids) > 1 THEN
        RAISE EXCEPTION '% could be any of % runs', p_run, cardinality(ids) USING ERRCODE = 'SA003';
    END IF;
    SELECT * INTO its FROM run WHERE id = ids[1] FOR UPDATE;
    IF its.id IS NULL THEN
        RAISE EXCEPTION 'there is no run %', p_run USING ERRCODE = 'SA003';
    END IF;
    run_id := its.id;
    was := CASE WHEN its.fetched_at IS NOT NULL THEN 'fetched' ELSE its.state END;
    done := was IN ('lost', 'stopped') OR (was IN ('claimed', 'begun')
        AND (p_force OR its.seen_at < clock_timestamp() - interval '30 seconds'));
    IF done THEN
        UPDATE run SET ended_at = NULL, reason = '' WHERE id = its.id;
        PERFORM queue_again(its.id);
    END IF;
    RETURN NEXT;
END;
$$;

-- Workers with that name or id take no more runs, and end when they have none; or take them again.
CREATE OR REPLACE FUNCTION subagents.drain(p_worker text, p_draining boolean)
RETURNS TABLE (id text, busy integer) LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, subagents, pg_temp AS $$
BEGIN
    FOR id, busy IN UPDATE worker w SET draining = p_draining
        WHERE p_worker IN (w.id, w.name) RETURNING w.id, w.busy
    LOOP
        PERFORM tell_worker(drain.id, '');
        RETURN NEXT;
    END LOOP;
END;
$$;
