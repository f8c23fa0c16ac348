package main

import (
	"context"
	"fmt"
	"slices"
	"time"
)

// ratio is the outcome of a benchmark: the median of A/B over blocks of pairs, and the blocks' extremes.
type ratio struct {
	median, lo, hi float64
	detail         string
	a, b           time.Duration // the medians of A and B
	other          string        // A against just-bash, where that is a baseline too
}

// work is one measured step; it returns how long the part that counts took.
type work func(ctx context.Context) (time.Duration, error)

// timed measures all of f.
func timed(f func(ctx context.Context) error) work {
	return func(ctx context.Context) (time.Duration, error) {
		start := time.Now()
		err := f(ctx)
		return time.Since(start), err
	}
}

// compare runs a and b in turn, n pairs after warm-up ones, in blocks; a block's ratio is that of its medians (p50
// against p50).
func compare(ctx context.Context, warm, blocks, n int, a, b work) (ratio, error) {
	var ratios []float64
	var allA, allB []time.Duration
	for i := range warm {
		for _, w := range []work{a, b} {
			if _, err := w(ctx); err != nil {
				return ratio{}, fmt.Errorf("warm-up %d: %w", i, err)
			}
		}
	}
	for range blocks {
		var as, bs []time.Duration
		for range n {
			da, err := a(ctx)
			if err != nil {
				return ratio{}, err
			}
			db, err := b(ctx)
			if err != nil {
				return ratio{}, err
			}
			as, bs = append(as, da), append(bs, db)
		}
		ratios = append(ratios, float64(median(as))/float64(median(bs)))
		allA, allB = append(allA, as...), append(allB, bs...)
	}
	slices.Sort(ratios)
	return ratio{
		median: ratios[len(ratios)/2], lo: ratios[0], hi: ratios[len(ratios)-1], a: median(allA), b: median(allB),
		detail: fmt.Sprintf("%s / %s", round(median(allA)), round(median(allB))),
	}, nil
}

func median(d []time.Duration) time.Duration {
	s := slices.Clone(d)
	slices.Sort(s)
	return s[len(s)/2]
}

func round(d time.Duration) time.Duration {
	switch {
	case d > time.Second:
		return d.Round(10 * time.Millisecond)
	case d > time.Millisecond:
		return d.Round(10 * time.Microsecond)
	}
	return d.Round(100 * time.Nanosecond)
}
