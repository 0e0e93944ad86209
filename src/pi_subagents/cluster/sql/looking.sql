-- For the role subagents_look: how the cluster stands.  No prompt, order, record or result is in it.

CREATE OR REPLACE FUNCTION subagents.overview(p_runs integer)
RETURNS jsonb LANGUAGE sql SECURITY DEFINER
SET search_path = pg_catalog, subagents, pg_temp AS $$
    SELECT jsonb_build_object(
        'now', as_ms(clock_timestamp()),
        'cluster', (SELECT jsonb_build_object('id', id, 'version', version,
            'queueVersion', queue_version) FROM cluster),
        'workers', (SELECT coalesce(jsonb_agg(jsonb_build_object(
            'id', id, 'name', name, 'host', host, 'role', by_role, 'tags', tags,
            'concurrency', concurrency, 'busy', busy, 'versions', versions, 'draining', draining,
            'startedMs', as_ms(started_at),
            'seenAgoMs', as_ms(clock_timestamp()) - as_ms(seen_at)) ORDER BY name, id), '[]')
            FROM worker),
        'queue', (SELECT coalesce(jsonb_agg(q ORDER BY q ->> 'tag'), '[]') FROM (
            SELECT jsonb_build_object('tag', tag,
                'queued', count(*) FILTER (WHERE state = 'queued'),
                'atWork', count(*) FILTER (WHERE state IN ('claimed', 'begun')),
                'oldestMs', coalesce(max(as_ms(clock_timestamp()) - as_ms(queued_at))
                    FILTER (WHERE state = 'queued'), 0)) q
            FROM run WHERE state IN ('queued', 'claimed', 'begun') GROUP BY tag) tags),
        'rates', (SELECT jsonb_build_object(
            'submittedLastMinute', count(*) FILTER (WHERE submitted_at > clock_timestamp() - interval '1 minute'),
            'endedLastMinute', count(*) FILTER (WHERE ended_at > clock_timestamp() - interval '1 minute'),
            'endedLastHour', count(*) FILTER (WHERE ended_at > clock_timestamp() - interval '1 hour'),
            'lostLastDay', count(*) FILTER (WHERE state = 'lost' AND ended_at > clock_timestamp() - interval '1 day'))
            FROM run),
        'stalled', (SELECT coalesce(jsonb_agg(jsonb_build_object('run', id, 'name', name,
            'worker', worker, 'state', state,
            'quietMs', as_ms(clock_timestamp()) - as_ms(seen_at))), '[]')
            FROM run WHERE state IN ('claimed', 'begun')
            AND seen_at < clock_timestamp() - interval '30 seconds'),
        'runs', (SELECT coalesce(jsonb_agg(r), '[]') FROM (
            SELECT jsonb_build_object('run', id, 'name', name, 'state', state, 'tag', tag,
                'attempt', attempt, 'worker', coalesce(worker, ''), 'submitter', submitter,
                'submittedMs', as_ms(submitted_at), 'endedMs', as_ms(ended_at), 'reason', reason) r
            FROM run ORDER BY submitted_at DESC LIMIT p_runs) latest),
        'refused', (SELECT coalesce(jsonb_agg(r), '[]') FROM (
            SELECT jsonb_build_object('run', run_id, 'submitter', submitter,
                'refusedBy', refused_by, 'reason', reason, 'atMs', as_ms(at)) r
            FROM refused_order ORDER BY id DESC LIMIT 20) latest),
        'bytes', (SELECT coalesce(sum(pg_total_relation_size(c.oid)), 0) FROM pg_class c
            WHERE c.relkind = 'r' AND c.relnamespace IN ('subagents'::regnamespace, 'subagents_queue'::regnamespace))
    );
$$;
