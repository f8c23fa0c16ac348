package shell_test

import (
	"testing"
	"time"

	"github.com/pgbox/pgbox/gateway/shell/proc"
)

// Debian has no xan to record from.
func TestXan(t *testing.T) {
	const file = `printf 'id,name,city,age\n1,Ann,"York, N",30\n2,Bob,Berlin,25\n3,Cid,,41\n4,Dan,Berlin,7\n' > f.csv; `
	for _, c := range []struct{ script, want string }{
		{`xan headers f.csv; xan headers -j < f.csv | head -2`, "0   id\n1   name\n2   city\n3   age\nid\nname\n"},
		{`xan count f.csv; xan count < f.csv`, "4\n4\n"},
		{`xan select name,age f.csv | xan head -l 1`, "name,age\nAnn,30\n"},
		{`xan select '!city,age' f.csv | xan tail -l 1; xan select 'city:name' f.csv | xan slice -i 0; xan select 3,0 f.csv | xan slice -s 1 -l 1`, "id,name\n4,Dan\ncity,name\n\"York, N\",Ann\nage,id\n25,2\n"},
		{`xan drop id,city f.csv | xan slice -s 2 -e 3`, "name,age\nCid,41\n"},
		{`xan filter 'age > 26 and name ne "Ann"' f.csv`, "id,name,city,age\n3,Cid,,41\n"},
		{`xan filter -v 'city == "Berlin"' f.csv | xan select id; xan filter 'startswith(name, "B") || !city' f.csv | xan behead`, "id\n1\n3\n2,Bob,Berlin,25\n3,Cid,,41\n"},
		{`xan search -s city Ber f.csv | xan count; xan search -r '^[AB]' -s name f.csv | xan count; xan search -e -i bob f.csv | xan select id`, "2\n2\nid\n2\n"},
		{`xan sort -s age f.csv | xan select age | xan behead | tr '\n' ' '; xan sort -N -R -s age f.csv | xan select age | xan behead | tr '\n' ' '`, "25 30 41 7 41 30 25 7 "},
		{`xan map 'age * 2 as double, upper(name) as up' f.csv | xan head -l 1; xan map 'age + 1' next f.csv | xan select next | xan head -l 1`, "id,name,city,age,double,up\n1,Ann,\"York, N\",30,60,ANN\nnext\n31\n"},
		{`xan transform name 'lower' f.csv | xan select name | xan head -l 1; xan transform name '_ ++ "!"' f.csv | xan select name | xan head -l 1`, "name\nann\nname\nAnn!\n"},
		{`xan frequency -s city f.csv`, "field,value,count\ncity,Berlin,2\ncity,<empty>,1\ncity,\"York, N\",1\n"},
		{`xan agg 'count() as n, sum(age), mean(age) as m, max(age), median(age)' f.csv`,
			"n,sum(age),m,max(age),median(age)\n4,103,25.75,41,27.5\n"},
		{`xan groupby city 'count() as n, min(age) as a' f.csv`, "city,n,a\n\"York, N\",1,30\nBerlin,2,7\n,1,41\n"},
		{`xan stats -s age,name f.csv`,
			"field,type,count,count_empty,sum,mean,median,stddev,min,max,cardinality,lex_first,lex_last\nage,int,4,0,103,25.75,27.5,12.275483697190918,7,41,4,25,7\nname,string,4,0,,,,,,,4,Ann,Dan\n"},
		{`xan dedup -s city f.csv | xan count; xan enum f.csv | xan slice -i 1; xan rename a,b -s id,name f.csv | xan headers -j | head -2`, "3\nindex,id,name,city,age\n1,2,Bob,Berlin,25\na\nb\n"},
		{`xan reverse f.csv | xan select id | xan behead | tr -d '\n'; xan cat rows f.csv f.csv | xan count; printf 'a,b\n1,x|y\n' | xan explode b`, "43218\na,b\n1,x\n1,y\n"},
		{`xan select id,name f.csv | xan head -l 1 | xan view`,
			"┌────┬──────┐\n│ id │ name │\n├────┼──────┤\n│ 1  │ Ann  │\n└────┴──────┘\n"},
		{`xan select id,city f.csv | xan slice -s 2 -l 1 | xan to json; xan select id f.csv | xan to jsonl | head -1`,
			"[\n  {\n    \"id\": 3,\n    \"city\": null\n  }\n]\n{\"id\":1}\n"},
		{`echo '[{"a":1,"b":"x,y"},{"a":null,"c":[1]}]' | xan from -f json; xan head -l 1 f.csv | xan select id,name | xan flatten`, "a,b,c\n1,\"x,y\",\n,,[1]\nRow n°0\nid   1\nname Ann\n"},
		{`printf 'a;b\n1;2\n' | xan select -d ';' b; printf '1,2\n' > g.csv; xan select -n 1 g.csv; xan fmt -t '\t' f.csv | head -1 | od -An -c | head -1`, "b\n2\n2\n   i   d  \\t   n   a   m   e  \\t   c   i   t   y  \\t   a   g   e\n"},
		{`xan select nosuch f.csv; echo $?; xan nosuch f.csv; echo $?; xan filter 'age >' f.csv; echo $?; xan count nofile; echo $?; xan select; echo $?`, "1\n1\n1\n1\n1\n"},
		{`xan select id f.csv -o out.csv; wc -l < out.csv; xan count </dev/null; xan head < /dev/null; echo $?`, "5\n0\n0\n"},
		{`xan filter "$(printf '(%.0s' {1..5000})" f.csv; echo $?`, "1\n"},
	} {
		o := runLimited(t, proc.Limits{}, time.Minute, file+c.script)
		if o.err != nil || o.out != c.want {
			t.Errorf("%s: got %q, %v (%q); want %q", c.script, o.out, o.err, o.errs, c.want)
		}
	}
}
