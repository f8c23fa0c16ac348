CREATE FUNCTION pgbox.merge_texts(p_base bytea, p_ours bytea, p_theirs bytea, OUT merged bytea, OUT conflicts integer)
    LANGUAGE plpgsql IMMUTABLE
    SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    -- One character for each byte, so that any text comes back as it was.
    v_base   text[] := string_to_array(convert_from(p_base, 'LATIN1'), E'\n');
    v_ours   text[] := string_to_array(convert_from(p_ours, 'LATIN1'), E'\n');
    v_theirs text[] := string_to_array(convert_from(p_theirs, 'LATIN1'), E'\n');
    v_nb     constant integer := cardinality(v_base);
    v_b      integer[]; -- the lines as numbers, which are found and compared faster
    v_u      integer[];
    v_h      integer[];
    v_mo     integer[];
    v_mt     integer[];
    v_out    text[] := '{}';
    v_same   boolean[]; -- theirs as base, theirs as ours, ours as base
    v_last   boolean;
    b        integer := 1;
    o        integer := 1;
    t        integer := 1;
    v_to     integer;
    v_o      integer;
    v_t      integer;
BEGIN
    WITH line AS (
        SELECT 1 AS side, u.n, u.line FROM unnest(v_base) WITH ORDINALITY AS u (line, n)
        UNION ALL
        SELECT 2, u.n, u.line FROM unnest(v_ours) WITH ORDINALITY AS u (line, n)
        UNION ALL
        SELECT 3, u.n, u.line FROM unnest(v_theirs) WITH ORDINALITY AS u (line, n)
    ), number AS (
        SELECT l.side, l.n, dense_rank() OVER (ORDER BY l.line COLLATE "C")::integer AS id FROM line l
    )
    SELECT coalesce(array_agg(m.id ORDER BY m.n) FILTER (WHERE m.side = 1), '{}'), coalesce(array_agg(m.id ORDER BY m.n) FILTER (WHERE m.side = 2), '{}'),
           coalesce(array_agg(m.id ORDER BY m.n) FILTER (WHERE m.side = 3), '{}')
      INTO v_b, v_u, v_h
      FROM number m;
    v_mo := pgbox.match_lines(v_b, v_u);
    v_mt := pgbox.match_lines(v_b, v_h);
    conflicts := 0;
    LOOP
        -- The next line that all three have.
        v_to := b;
        WHILE v_to <= v_nb AND (v_mo[v_to] < o OR v_mt[v_to] < t) LOOP
            v_to := v_to + 1;
        END LOOP;
        v_o := CASE WHEN v_to <= v_nb THEN v_mo[v_to] ELSE cardinality(v_ours) + 1 END;
        v_t := CASE WHEN v_to <= v_nb THEN v_mt[v_to] ELSE cardinality(v_theirs) + 1 END;
        IF v_to > b OR v_o > o OR v_t > t THEN
            -- Element by element: a slice would copy the whole array for each place.
            v_same := pg_catalog.array_fill(true, ARRAY[3]);
            v_same[1] := v_t - t = v_to - b;
            FOR i IN 0..v_t - t - 1 LOOP
                EXIT WHEN NOT v_same[1];
                v_same[1] := v_h[t + i] = v_b[b + i];
            END LOOP;
            v_same[2] := v_t - t = v_o - o;
            FOR i IN 0..v_t - t - 1 LOOP
                EXIT WHEN NOT v_same[2];
                v_same[2] := v_h[t + i] = v_u[o + i];
            END LOOP;
            v_same[3] := v_o - o = v_to - b;
            FOR i IN 0..v_o - o - 1 LOOP
                EXIT WHEN NOT v_same[3];
                v_same[3] := v_u[o + i] = v_b[b + i];
            END LOOP;
            v_last := v_to > v_nb AND NOT (v_same[1] OR v_same[2] OR v_same[3]);
            IF NOT (v_same[1] OR v_same[2] OR v_same[3]) THEN
                conflicts := conflicts + 1;
                v_out := v_out || '<<<<<<< ours'::text;
            END IF;
            IF v_same[1] OR v_same[2] OR NOT v_same[3] THEN
                FOR i IN o..v_o - 1 LOOP
                    CONTINUE WHEN v_last AND i = v_o - 1 AND v_ours[i] = '';
                    v_out := v_out || v_ours[i];
                END LOOP;
            END IF;
            IF NOT (v_same[1] OR v_same[2] OR v_same[3]) THEN
                v_out := v_out || '======='::text;
            END IF;
            IF NOT (v_same[1] OR v_same[2]) THEN
                FOR i IN t..v_t - 1 LOOP
                    CONTINUE WHEN v_last AND i = v_t - 1 AND v_theirs[i] = '';
                    v_out := v_out || v_theirs[i];
                END LOOP;
            END IF;
            IF NOT (v_same[1] OR v_same[2] OR v_same[3]) THEN
                v_out := v_out || '>>>>>>> theirs'::text;
                -- The last line ends with a newline.
                IF v_to > v_nb THEN
                    v_out := v_out || ''::text;
                END IF;
            END IF;
        END IF;
        EXIT WHEN v_to > v_nb;
        b := v_to;
        WHILE v_to < v_nb AND v_mo[v_to + 1] = v_mo[v_to] + 1 AND v_mt[v_to + 1] = v_mt[v_to] + 1 LOOP
            v_to := v_to + 1;
        END LOOP;
        FOR i IN b..v_to LOOP
            v_out := v_out || v_base[i];
        END LOOP;
        o := v_mo[v_to] + 1;
        t := v_mt[v_to] + 1;
        b := v_to + 1;
    END LOOP;
    merged := convert_to(array_to_string(v_out, E'\n'), 'LATIN1');
END
$$;

COMMENT ON FUNCTION pgbox.merge_texts(bytea, bytea, bytea) IS
    'Merges the changes of two texts since a common base, line by line. A place that both changed differently gets both sides between the lines <<<<<<< ours, ======= and >>>>>>> theirs, and is counted.';
