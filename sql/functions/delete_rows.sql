-- By row address and in no other way: a new top layer is not in the statistics, so the planner takes it for one row and would rather read
-- all of it for each address.
CREATE FUNCTION pgbox.delete_rows(p_inodes tid[], p_chunks tid[], p_dirents tid[]) RETURNS void
    LANGUAGE plpgsql VOLATILE
    SET search_path = pg_catalog, pg_temp
    SET enable_seqscan = off
    SET enable_indexscan = off
    SET enable_bitmapscan = off
    SET jit = off
    SET plan_cache_mode = force_generic_plan
AS $$
BEGIN
    IF cardinality(p_inodes) > 0 THEN
        DELETE FROM pgbox.inode r WHERE r.ctid = ANY (p_inodes);
    END IF;
    IF cardinality(p_chunks) > 0 THEN
        DELETE FROM pgbox.chunk r WHERE r.ctid = ANY (p_chunks);
    END IF;
    IF cardinality(p_dirents) > 0 THEN
        DELETE FROM pgbox.dirent r WHERE r.ctid = ANY (p_dirents);
    END IF;
END
$$;

COMMENT ON FUNCTION pgbox.delete_rows(tid[], tid[], tid[]) IS
    'Deletes rows of the top layer by their addresses. The caller read those in the same transaction, holding the lock of the sandbox.';
