-- Statements are planned once for a session and then serve arrays of 1 and of 10 000 rows, on tables that
-- may have been empty at planning time. Only nested loops over primary keys are good for all of
-- those, hence the planner settings; and a statement whose array is empty is not run at all.
-- Rows are inserted in the order of their keys: an index that is filled from one end is full to nine tenths, at random places to seven.
-- Where a row of the arrays looks for one of a table, that is a subquery of its own (OFFSET 0 keeps it one): as a
-- join it may read the whole layer for each row when the layer is thought to be small.
CREATE FUNCTION fs.apply(
    p_sandbox      uuid,
    p_version      bigint,
    p_next_ino     bigint,
    p_used_bytes   bigint,
    p_used_inodes  bigint,
    p_ino          bigint[]    DEFAULT '{}',
    p_kind         smallint[]  DEFAULT '{}',
    p_mode         integer[]   DEFAULT '{}',
    p_uid          integer[]   DEFAULT '{}',
    p_gid          integer[]   DEFAULT '{}',
    p_nlink        integer[]   DEFAULT '{}',
    p_rdev         integer[]   DEFAULT '{}',
    p_size         bigint[]    DEFAULT '{}',
    p_mtime        bigint[]    DEFAULT '{}',
    p_ctime        bigint[]    DEFAULT '{}',
    p_target       text[]      DEFAULT '{}',
    p_gone         bigint[]    DEFAULT '{}',
    p_parent       bigint[]    DEFAULT '{}',
    p_name         text[]      DEFAULT '{}',
    p_child        bigint[]    DEFAULT '{}',
    p_chunk_ino    bigint[]    DEFAULT '{}',
    p_chunk_idx    integer[]   DEFAULT '{}',
    p_chunk_sha256 bytea[]     DEFAULT '{}',
    p_blob         bytea[]     DEFAULT '{}',
    p_shell_state  jsonb       DEFAULT NULL,
    p_exec         jsonb       DEFAULT NULL,
    p_op           text[]      DEFAULT '{}',
    p_path         text[]      DEFAULT '{}',
    p_path_to      text[]      DEFAULT '{}',
    p_change_ino   bigint[]    DEFAULT '{}',
    p_size_before  bigint[]    DEFAULT '{}',
    p_size_after   bigint[]    DEFAULT '{}',
    p_hash_before  bytea[]     DEFAULT '{}',
    p_hash_after   bytea[]     DEFAULT '{}',
    p_changed_at   timestamptz DEFAULT NULL
) RETURNS TABLE (version bigint, used_bytes bigint, used_inodes bigint, layers uuid[], changed_at timestamptz, state_sha256 bytea)
    LANGUAGE plpgsql VOLATILE SECURITY DEFINER
    SET search_path = pg_catalog, pg_temp
    SET enable_seqscan = off
    SET jit = off
    SET enable_hashjoin = off
    SET enable_mergejoin = off
AS $$
DECLARE
    v_version bigint;
    v_layers  uuid[];
    v_at      timestamptz;
    v_used    bigint;
    v_state   bytea;
    v_top     uuid;
    v_lower   uuid[];
    v_new     bytea[];
    v_missing bigint;
    v_exec    uuid;
BEGIN
    PERFORM pgbox.need_exec(p_exec, 'apply'), pgbox.need(p_version BETWEEN 0 AND 9223372036854775806, 'apply', 'p_version'),
            pgbox.need(p_used_bytes >= 0 AND p_used_inodes >= 0, 'apply', 'p_used_bytes, p_used_inodes');
    IF cardinality(p_ino) > 0 THEN
        PERFORM pgbox.need_columns(p_ino, 'apply', 'p_ino', cardinality(p_kind), cardinality(p_mode), cardinality(p_uid), cardinality(p_gid), cardinality(p_nlink),
            cardinality(p_rdev), cardinality(p_size), cardinality(p_mtime), cardinality(p_ctime), cardinality(p_target));
    END IF;
    IF cardinality(p_parent) > 0 THEN
        PERFORM pgbox.need_columns(p_parent, 'apply', 'p_parent', cardinality(p_name), cardinality(p_child));
    END IF;
    IF cardinality(p_chunk_ino) > 0 THEN
        PERFORM pgbox.need_columns(p_chunk_ino, 'apply', 'p_chunk_ino', cardinality(p_chunk_idx), cardinality(p_chunk_sha256));
    END IF;
    IF cardinality(p_op) > 0 THEN
        PERFORM pgbox.need_columns(p_op, 'apply', 'p_op', cardinality(p_path), cardinality(p_path_to), cardinality(p_change_ino),
            cardinality(p_size_before), cardinality(p_size_after), cardinality(p_hash_before), cardinality(p_hash_after));
    END IF;
    v_version := p_version + 1;
    SELECT a.layers, a.changed_at, a.used_bytes, a.state_sha256 INTO v_layers, v_at, v_used, v_state
      FROM pgbox.advance(p_sandbox, p_version, p_changed_at, p_next_ino, p_used_bytes, p_used_inodes, p_shell_state,
           coalesce(cardinality(p_ino), 0) + coalesce(cardinality(p_gone), 0) + coalesce(cardinality(p_parent), 0)
               + coalesce(cardinality(p_chunk_ino), 0) > 0) a;
    v_top   := v_layers[1];
    v_lower := v_layers[2:];

    -- Contents first.
    IF cardinality(p_blob) > 0 THEN
        PERFORM pgbox.need((SELECT bool_and(coalesce(octet_length(d.data) BETWEEN 1 AND pgbox.chunk_size(), false)) FROM unnest(p_blob) AS d (data)), 'apply', 'p_blob');
        v_new := pgbox.put_chunk_contents(v_layers, p_chunk_ino, p_chunk_idx, p_chunk_sha256, p_blob);
    END IF;

    IF cardinality(p_chunk_ino) > 0 THEN
        -- The usual small write brings all it refers to.
        IF cardinality(p_chunk_sha256) > 8 OR NOT coalesce(p_chunk_sha256 <@ v_new, false) THEN
            -- What was here before must stay: fs.gc deletes only rows it can lock, and looks for references after that.
            WITH want AS MATERIALIZED (
                SELECT w.sha256 FROM unnest(p_chunk_sha256) AS w (sha256) WHERE w.sha256 IS NOT NULL
                EXCEPT
                SELECT n.sha256 FROM unnest(v_new) AS n (sha256)
            ), held AS MATERIALIZED (
                SELECT b.sha256
                  FROM (SELECT o.sha256 FROM want o ORDER BY o.sha256) w
                  JOIN pgbox.blob b ON b.sha256 = w.sha256
                   FOR KEY SHARE OF b
            )
            SELECT (SELECT count(*) FROM want) - (SELECT count(*) FROM held) INTO v_missing;
            IF v_missing > 0 THEN
                PERFORM pgbox.raise_errno('ENODATA', 'apply', p_sandbox::text);
            END IF;
        END IF;

        INSERT INTO pgbox.chunk (layer_id, ino, idx, sha256)
        SELECT v_top, c.ino, c.idx, c.sha256
          FROM unnest(p_chunk_ino, p_chunk_idx, p_chunk_sha256) AS c (ino, idx, sha256)
         WHERE c.sha256 IS NOT NULL
         ORDER BY c.ino, c.idx
        ON CONFLICT ON CONSTRAINT chunk_pkey DO UPDATE SET sha256 = excluded.sha256;

        IF array_position(p_chunk_sha256, NULL) IS NOT NULL THEN
            PERFORM pgbox.delete_rows(NULL,
                ARRAY(SELECT k.ctid FROM unnest(p_chunk_ino, p_chunk_idx, p_chunk_sha256) AS c (ino, idx, sha256)
                       CROSS JOIN LATERAL (SELECT o.ctid FROM pgbox.chunk o WHERE o.layer_id = v_top AND o.ino = c.ino AND o.idx = c.idx OFFSET 0) k
                       WHERE c.sha256 IS NULL),
                NULL);
            INSERT INTO pgbox.chunk (layer_id, ino, idx, sha256)
            SELECT v_top, c.ino, c.idx, NULL
              FROM unnest(p_chunk_ino, p_chunk_idx, p_chunk_sha256) AS c (ino, idx, sha256)
             WHERE c.sha256 IS NULL
               AND EXISTS (SELECT FROM pgbox.chunk l
                            WHERE l.layer_id = ANY (v_lower) AND l.ino = c.ino AND l.idx = c.idx AND l.sha256 IS NOT NULL
                           OFFSET 0);
        END IF;
    END IF;

    IF cardinality(p_ino) > 0 THEN
        INSERT INTO pgbox.inode (layer_id, ino, kind, mode, uid, gid, nlink, rdev, size, mtime, ctime, target)
        SELECT v_top, i.ino, i.kind, i.mode, i.uid, i.gid, i.nlink, i.rdev, i.size, i.mtime, i.ctime, nullif(i.target, '')
          FROM unnest(p_ino, p_kind, p_mode, p_uid, p_gid, p_nlink, p_rdev, p_size, p_mtime, p_ctime, p_target)
            AS i (ino, kind, mode, uid, gid, nlink, rdev, size, mtime, ctime, target)
         ORDER BY i.ino
        ON CONFLICT ON CONSTRAINT inode_pkey DO UPDATE
        SET kind = excluded.kind, mode = excluded.mode, uid = excluded.uid, gid = excluded.gid, nlink = excluded.nlink,
            rdev = excluded.rdev, size = excluded.size, mtime = excluded.mtime, ctime = excluded.ctime, target = excluded.target;
    END IF;

    IF cardinality(p_gone) > 0 THEN
        PERFORM pgbox.forget(v_layers, p_gone);
    END IF;

    IF cardinality(p_parent) > 0 THEN
        INSERT INTO pgbox.dirent (layer_id, parent_ino, name, ino)
        SELECT v_top, d.parent_ino, d.name, d.ino
          FROM unnest(p_parent, p_name, p_child) AS d (parent_ino, name, ino)
         WHERE d.ino <> 0
         ORDER BY d.ino -- the order of both indexes: inodes are numbered as names are made
        ON CONFLICT ON CONSTRAINT dirent_pkey DO UPDATE SET ino = excluded.ino;

        IF array_position(p_child, 0) IS NOT NULL THEN
            PERFORM pgbox.forget_names(v_layers, array_agg(d.parent_ino), array_agg(d.name))
               FROM unnest(p_parent, p_name, p_child) AS d (parent_ino, name, ino)
              WHERE d.ino = 0;
        END IF;
    END IF;

    IF p_exec IS NOT NULL THEN
        v_exec := pgbox.add_exec(p_sandbox, p_exec, p_version, v_version);
    END IF;
    IF cardinality(p_op) > 0 THEN
        INSERT INTO pgbox.change (sandbox_id, version, seq, exec_id, db_role, op, path, path_to, ino, size_before, size_after, hash_before, hash_after)
        SELECT p_sandbox, v_version, c.seq - 1, v_exec, CASE WHEN v_exec IS NULL THEN session_user END, c.op, c.path, nullif(c.path_to, ''), c.ino,
               nullif(c.size_before, -1), nullif(c.size_after, -1), c.hash_before, c.hash_after
          FROM unnest(p_op, p_path, p_path_to, p_change_ino, p_size_before, p_size_after, p_hash_before, p_hash_after) WITH ORDINALITY
            AS c (op, path, path_to, ino, size_before, size_after, hash_before, hash_after, seq)
         WHERE (SELECT s.journal FROM pgbox.sandbox s WHERE s.id = p_sandbox);
    END IF;
    RETURN QUERY SELECT v_version, v_used, p_used_inodes, v_layers, v_at, v_state;
END
$$;

COMMENT ON FUNCTION fs.apply(uuid, bigint, bigint, bigint, bigint, bigint[], smallint[], integer[], integer[], integer[], integer[], integer[],
    bigint[], bigint[], bigint[], text[], bigint[], bigint[], text[], bigint[], bigint[], integer[], bytea[], bytea[], jsonb, jsonb,
    text[], text[], text[], bigint[], bigint[], bigint[], bytea[], bytea[], timestamptz) IS
    'Commits what one run changed, in one transaction or not at all. ESTALE when the sandbox is no longer at p_version, or reached it at another time than p_changed_at; EDQUOT when a limit is exceeded; ENODATA when the database lacks a content that a chunk refers to. Inodes, dirents, chunks and journal come as parallel arrays. p_ino… are inodes as they are now (target is empty except for symlinks); p_gone are inodes without a name left; p_child 0 removes a dirent; a NULL hash makes a hole; p_blob are new contents. p_used_bytes and p_used_inodes are the usage of the whole tree afterwards; the used_bytes returned also counts the new p_shell_state, and state_sha256 is its hash. p_op… is the journal; its sizes (-1: none) and content hashes are those of the regular files before and after the whole run. The layers returned differ from those before when an automatic snapshot was due; changed_at is the time of the new version.';
