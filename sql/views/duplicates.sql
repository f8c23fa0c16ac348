CREATE VIEW fs.duplicates WITH (security_invoker = true) AS
SELECT f.content_hash, min(f.size) AS size, count(*) AS files, count(DISTINCT f.sandbox_id) AS sandboxes,
       min(f.size) * (count(*) - 1) AS saved_bytes, min(f.path) AS example
  FROM (SELECT DISTINCT ON (v.sandbox_id, v.ino) v.sandbox_id, v.ino, v.size, v.path, v.content_hash
          FROM fs.files v
         WHERE v.kind = pgbox.kind('file') AND v.size > 0 AND v.ino >= 1024
         ORDER BY v.sandbox_id, v.ino, v.path COLLATE "C") f
 GROUP BY f.content_hash, f.size
HAVING count(*) > 1;

COMMENT ON VIEW fs.duplicates IS
    'Content that several files hold, in one sandbox or in many, and how much storing it once saves. Hard links and the base layer do not count.';
