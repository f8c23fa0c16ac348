package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/pgbox/pgbox/gateway/auth"
)

func benchRead(ctx context.Context, e *env) (ratio, error) {
	_, route, err := e.sandbox(ctx)
	if err != nil {
		return ratio{}, err
	}
	body := []byte(`{"script":"echo hi","readOnly":true}`)
	return compare(ctx, e.times(500, 5), e.times(9, 1), e.times(500, 5),
		timed(func(ctx context.Context) error { _, err := e.post(ctx, route+"/exec-sync", body); return err }),
		timed(func(ctx context.Context) error { _, err := e.post(ctx, e.bare.url+"/select", body); return err }))
}

func benchWrite(ctx context.Context, e *env) (ratio, error) {
	_, route, err := e.sandbox(ctx)
	if err != nil {
		return ratio{}, err
	}
	body := []byte(`{"script":"echo x >> log"}`)
	return compare(ctx, e.times(200, 5), e.times(9, 1), e.times(200, 5),
		timed(func(ctx context.Context) error { _, err := e.post(ctx, route+"/exec-sync", body); return err }),
		timed(func(ctx context.Context) error { _, err := e.post(ctx, e.bare.url+"/update", body); return err }))
}

// benchRefused: what is refused has changed nothing, so the tree in memory stays.
func benchRefused(ctx context.Context, e *env) (_ ratio, err error) {
	_, route, err := e.sandbox(ctx)
	if err != nil {
		return ratio{}, err
	}
	if _, err := e.exec(ctx, route, map[string]any{"script": fmt.Sprintf("mkdir d; touch d/{1..%d}",
		e.times(20_000, 20))}); err != nil {
		return ratio{}, err
	}
	if _, err := e.owner.Exec(ctx, "SELECT fs.set_quota($1, 'bench', p_max_inodes => 1)", auth.DefaultTenant); err != nil {
		return ratio{}, err
	}
	defer func() {
		_, unset := e.owner.Exec(context.WithoutCancel(ctx), "SELECT fs.set_quota($1, 'bench')", auth.DefaultTenant)
		err = errors.Join(err, unset)
	}()
	read := timed(func(ctx context.Context) error {
		_, err := e.post(ctx, route+"/exec-sync", []byte(`{"script":"ls","readOnly":true}`))
		return err
	})
	refused := func(ctx context.Context) (time.Duration, error) {
		if _, err := e.post(ctx, route+"/exec-sync", []byte(`{"script":"mkdir more"}`)); err == nil ||
			!strings.Contains(err.Error(), "EDQUOT") {
			return 0, fmt.Errorf("not refused: %w", err)
		}
		return read(ctx)
	}
	return compare(ctx, e.times(50, 2), e.times(9, 1), e.times(100, 3), refused, read)
}

// appendTo compares an append to a file of the given size with one to a 1 KiB file, in sandboxes of their own.
func appendTo(ctx context.Context, e *env, size int) (ratio, error) {
	var routes [2]string
	for i, n := range []int{size, 1 << 10} {
		_, route, err := e.sandbox(ctx)
		if err != nil {
			return ratio{}, err
		}
		if _, err := e.exec(ctx, route, map[string]any{"script": fmt.Sprintf("yes 0123456789abcdef | head -c %d > log",
			n)}); err != nil {
			return ratio{}, err
		}
		routes[i] = route
	}
	body := []byte(`{"script":"echo x >> log"}`)
	step := func(route string) work {
		return timed(func(ctx context.Context) error { _, err := e.post(ctx, route+"/exec-sync", body); return err })
	}
	return compare(ctx, e.times(50, 2), e.times(9, 1), e.times(100, 3), step(routes[0]), step(routes[1]))
}

func benchAppend(ctx context.Context, e *env) (ratio, error) { return appendTo(ctx, e, 64<<20) }

func benchAppendWorst(ctx context.Context, e *env) (ratio, error) {
	return appendTo(ctx, e, 64<<20+60<<10)
}

// sourceText is file content that looks like source: mostly words, every tenth file with the pattern.
func sourceText(i, size int) string {
	var b strings.Builder
	for line := 0; b.Len() < size; line++ {
		if i%10 == 0 && line == 3 {
			b.WriteString("// needle in a haystack\n")
		}
		fmt.Fprintf(&b, "\tresult[%d] = append(result[%d], compute(%d, %q))\n", line, i, line*i, "some text")
	}
	return b.String()[:size]
}
