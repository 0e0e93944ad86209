-- For subagents_submit and subagents_work: bytes that travel beside an order, called by their
-- SHA-256.  A pack is there when all of its parts are; 256 MB at most.

CREATE OR REPLACE FUNCTION subagents.packs_there(p_digests text[])
RETURNS TABLE (digest text) LANGUAGE sql SECURITY DEFINER
SET search_path = pg_catalog, subagents, pg_temp AS $$
    UPDATE pack SET seen_at = clock_timestamp()
        WHERE digest = ANY (p_digests) AND whole RETURNING digest;
$$;

CREATE OR REPLACE FUNCTION subagents.put_pack_part(p_digest text, p_size bigint, p_parts integer,
    p_part integer, p_data bytea)
RETURNS void LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, subagents, pg_temp AS $$
DECLARE
    its subagents.pack;
BEGIN
    IF p_size > 268435456 OR octet_length(p_data) > 1048576 OR p_part NOT BETWEEN 1 AND p_parts
        OR p_parts > 256 OR p_digest !~ '^[0-9a-f]{64}$'
    THEN
        RAISE EXCEPTION 'a pack of that size is refused' USING ERRCODE = 'SA002';
    END IF;
    INSERT INTO pack (digest, size, parts) VALUES (p_digest, p_size, p_parts)
        ON CONFLICT (digest) DO UPDATE SET seen_at = clock_timestamp();
    SELECT * INTO its FROM pack WHERE digest = p_digest FOR UPDATE;
    IF its.whole THEN RETURN; END IF;
    IF its.size <> p_size OR its.parts <> p_parts OR its.by_role <> session_user THEN
        -- Somebody began it otherwise and did not end it: begun anew.
        DELETE FROM pack_part WHERE digest = p_digest;
        UPDATE pack SET size = p_size, parts = p_parts, by_role = session_user
            WHERE digest = p_digest;
    END IF;
    INSERT INTO pack_part VALUES (p_digest, p_part, p_data) ON CONFLICT DO NOTHING;
    IF (SELECT count(*) FROM pack_part WHERE digest = p_digest) = p_parts THEN
        -- The digest is proved here, so that nobody can put other bytes under its name.
        IF (SELECT encode(sha256(string_agg(data, ''::bytea ORDER BY part)), 'hex')
            FROM pack_part WHERE digest = p_digest) <> p_digest
        THEN
            RAISE EXCEPTION 'the bytes of pack % are others', p_digest USING ERRCODE = 'SA002';
        END IF;
        UPDATE pack SET whole = true WHERE digest = p_digest;
    END IF;
END;
$$;

CREATE OR REPLACE FUNCTION subagents.pack_part(p_digest text, p_part integer)
RETURNS TABLE (data bytea, parts integer) LANGUAGE sql SECURITY DEFINER
SET search_path = pg_catalog, subagents, pg_temp AS $$
    SELECT pp.data, p.parts FROM pack_part pp JOIN pack p ON p.digest = pp.digest
    WHERE pp.digest = p_digest AND pp.part = p_part AND p.whole;
$$;
