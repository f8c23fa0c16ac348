CREATE FUNCTION pgbox.match_lines(p_a integer[], p_b integer[]) RETURNS integer[]
    LANGUAGE plpgsql IMMUTABLE
    SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    v_na    constant integer := cardinality(p_a);
    v_nb    constant integer := cardinality(p_b);
    v_match integer[] := array_fill(0, ARRAY[v_na]);
    v_used  boolean[] := array_fill(false, ARRAY[v_nb]);
    v_from  integer := 1; -- what follows the common beginning
    v_a     integer := v_na;
    v_b     integer := v_nb;
    v_i     integer[];
    v_j     integer[];
    v_tails integer[] := '{}'; -- of the increasing sequences of each length, the one that ends lowest
    v_prev  integer[] := '{}';
    v_low   integer;
    v_high  integer;
    v_mid   integer;
    v_at    integer;
BEGIN
    WHILE v_from <= v_na AND v_from <= v_nb AND p_a[v_from] = p_b[v_from] LOOP
        v_match[v_from] := v_from;
        v_used[v_from] := true;
        v_from := v_from + 1;
    END LOOP;
    WHILE v_a >= v_from AND v_b >= v_from AND p_a[v_a] = p_b[v_b] LOOP
        v_match[v_a] := v_b;
        v_used[v_b] := true;
        v_a := v_a - 1;
        v_b := v_b - 1;
    END LOOP;

    -- Lines that both sides have once, in the order that most of them share.
    SELECT array_agg(x.a ORDER BY x.a), array_agg(x.b ORDER BY x.a) INTO v_i, v_j
      FROM (SELECT max(u.a)::integer AS a, max(u.b)::integer AS b
              FROM (SELECT l.line, l.n AS a, NULL::bigint AS b FROM unnest(p_a) WITH ORDINALITY AS l (line, n) WHERE l.n BETWEEN v_from AND v_a
                    UNION ALL
                    SELECT l.line, NULL, l.n FROM unnest(p_b) WITH ORDINALITY AS l (line, n) WHERE l.n BETWEEN v_from AND v_b) u
             GROUP BY u.line
            HAVING count(u.a) = 1 AND count(u.b) = 1) x;
    FOR k IN 1..coalesce(cardinality(v_i), 0) LOOP
        v_low := 1;
        v_high := cardinality(v_tails) + 1;
        WHILE v_low < v_high LOOP
            v_mid := (v_low + v_high) / 2;
            IF v_j[v_tails[v_mid]] < v_j[k] THEN
                v_low := v_mid + 1;
            ELSE
                v_high := v_mid;
            END IF;
        END LOOP;
        v_prev[k] := CASE WHEN v_low > 1 THEN v_tails[v_low - 1] ELSE 0 END;
        v_tails[v_low] := k;
    END LOOP;
    v_at := CASE WHEN cardinality(v_tails) > 0 THEN v_tails[cardinality(v_tails)] ELSE 0 END;
    WHILE v_at > 0 LOOP
        v_match[v_i[v_at]] := v_j[v_at];
        v_used[v_j[v_at]] := true;
        v_at := v_prev[v_at];
    END LOOP;

    -- And what is equal next to them.
    FOR i IN v_from..v_a LOOP
        v_at := CASE WHEN i = 1 THEN 1 WHEN v_match[i - 1] > 0 THEN v_match[i - 1] + 1 ELSE 0 END;
        IF v_match[i] = 0 AND v_at BETWEEN 1 AND v_nb AND NOT v_used[v_at] AND p_a[i] = p_b[v_at] THEN
            v_match[i] := v_at;
            v_used[v_at] := true;
        END IF;
    END LOOP;
    FOR i IN REVERSE v_a..v_from LOOP
        v_at := CASE WHEN i = v_na THEN v_nb WHEN v_match[i + 1] > 0 THEN v_match[i + 1] - 1 ELSE 0 END;
        IF v_match[i] = 0 AND v_at BETWEEN 1 AND v_nb AND NOT v_used[v_at] AND p_a[i] = p_b[v_at] THEN
            v_match[i] := v_at;
            v_used[v_at] := true;
        END IF;
    END LOOP;
    RETURN v_match;
END
$$;

COMMENT ON FUNCTION pgbox.match_lines(integer[], integer[]) IS
    'Which line of p_b is which line of p_a (0: none), in order, where equal numbers are equal lines: the common beginning and end, the lines that both have once, and the equal ones next to them.';
