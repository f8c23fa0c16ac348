CREATE FUNCTION pgbox.match_lines(p_a integer[], p_b integer[]) RETURNS integer[]
    LANGUAGE plpgsql IMMUTABLE
    SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    v_match integer[] := array_fill(0, ARRAY[cardinality(p_a)]);
    v_work  integer[] := ARRAY[1, cardinality(p_a), 1, cardinality(p_b)]; -- ranges that are left, four numbers each
    v_top   integer := 1;
    v_cells integer := 200000; -- what comparing each line with each may come to
    v_a     integer;
    v_an    integer;
    v_b     integer;
    v_bn    integer;
    v_i     integer[];
    v_j     integer[];
    v_tails integer[]; -- of the increasing sequences of each length, the one that ends lowest
    v_prev  integer[];
    v_long  integer[]; -- of the ends of both ranges, the longest sequence that they share
    v_width integer;
    v_low   integer;
    v_high  integer;
    v_mid   integer;
    v_at    integer;
BEGIN
    WHILE v_top > 0 LOOP
        v_a := v_work[4 * v_top - 3];
        v_an := v_work[4 * v_top - 2];
        v_b := v_work[4 * v_top - 1];
        v_bn := v_work[4 * v_top];
        v_top := v_top - 1;
        WHILE v_a <= v_an AND v_b <= v_bn AND p_a[v_a] = p_b[v_b] LOOP
            v_match[v_a] := v_b;
            v_a := v_a + 1;
            v_b := v_b + 1;
        END LOOP;
        WHILE v_a <= v_an AND v_b <= v_bn AND p_a[v_an] = p_b[v_bn] LOOP
            v_match[v_an] := v_bn;
            v_an := v_an - 1;
            v_bn := v_bn - 1;
        END LOOP;
        CONTINUE WHEN v_a > v_an OR v_b > v_bn;

        -- Lines that both sides have once here, in the order that most of them share.
        SELECT array_agg(x.a ORDER BY x.a), array_agg(x.b ORDER BY x.a) INTO v_i, v_j
          FROM (SELECT max(u.a)::integer AS a, max(u.b)::integer AS b
                  FROM (SELECT l.line, v_a + l.n - 1 AS a, NULL::bigint AS b FROM unnest(p_a[v_a:v_an]) WITH ORDINALITY AS l (line, n)
                        UNION ALL
                        SELECT l.line, NULL, v_b + l.n - 1 FROM unnest(p_b[v_b:v_bn]) WITH ORDINALITY AS l (line, n)) u
                 GROUP BY u.line
                HAVING count(u.a) = 1 AND count(u.b) = 1) x;
        IF v_i IS NOT NULL THEN
            v_tails := '{}';
            v_prev := '{}';
            FOR k IN 1..cardinality(v_i) LOOP
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
            -- From the last one back; what is between two of them is looked at by itself.
            v_at := v_tails[cardinality(v_tails)];
            WHILE v_at > 0 LOOP
                v_match[v_i[v_at]] := v_j[v_at];
                IF v_i[v_at] < v_an AND v_j[v_at] < v_bn THEN
                    v_top := v_top + 1;
                    v_work[4 * v_top - 3] := v_i[v_at] + 1;
                    v_work[4 * v_top - 2] := v_an;
                    v_work[4 * v_top - 1] := v_j[v_at] + 1;
                    v_work[4 * v_top] := v_bn;
                END IF;
                v_an := v_i[v_at] - 1;
                v_bn := v_j[v_at] - 1;
                v_at := v_prev[v_at];
            END LOOP;
            IF v_a <= v_an AND v_b <= v_bn THEN
                v_top := v_top + 1;
                v_work[4 * v_top - 3] := v_a;
                v_work[4 * v_top - 2] := v_an;
                v_work[4 * v_top - 1] := v_b;
                v_work[4 * v_top] := v_bn;
            END IF;
            CONTINUE;
        END IF;

        -- Only lines that are there more than once: in a small range the longest sequence that both share.
        v_width := v_bn - v_b + 2;
        CONTINUE WHEN (v_an - v_a + 2)::bigint * v_width > v_cells;
        v_cells := v_cells - (v_an - v_a + 2) * v_width;
        v_long := array_fill(0, ARRAY[(v_an - v_a + 2) * v_width]);
        FOR i IN REVERSE v_an..v_a LOOP
            FOR j IN REVERSE v_bn..v_b LOOP
                v_at := (i - v_a) * v_width + j - v_b + 1;
                v_long[v_at] := CASE WHEN p_a[i] = p_b[j] THEN v_long[v_at + v_width + 1] + 1
                                     ELSE greatest(v_long[v_at + v_width], v_long[v_at + 1]) END;
            END LOOP;
        END LOOP;
        v_low := v_a;
        v_high := v_b;
        WHILE v_low <= v_an AND v_high <= v_bn LOOP
            v_at := (v_low - v_a) * v_width + v_high - v_b + 1;
            IF p_a[v_low] = p_b[v_high] THEN
                v_match[v_low] := v_high;
                v_low := v_low + 1;
                v_high := v_high + 1;
            ELSIF v_long[v_at + v_width] >= v_long[v_at + 1] THEN
                v_low := v_low + 1;
            ELSE
                v_high := v_high + 1;
            END IF;
        END LOOP;
    END LOOP;
    RETURN v_match;
END
$$;

COMMENT ON FUNCTION pgbox.match_lines(integer[], integer[]) IS
    'For each line of p_a, which line of p_b it is (0: none), in order; equal numbers are equal lines. Matches the common beginning and end, then the lines that occur once in both, then the same between those, and where every line is repeated the longest common sequence.';
