package feed

import (
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/pgbox/pgbox/gateway/cache"
)

type counts struct {
	patched, dropped atomic.Int64
	outcomes         *prometheus.CounterVec
	resets           *prometheus.CounterVec
	large            prometheus.Counter
}

func newCounts() *counts {
	return &counts{
		outcomes: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "pgbox_feed_commits_total",
			Help: "Commits heard, by what became of the sandbox's cached tree: patched, current (it had the change), dropped, absent (not cached).",
		}, []string{"outcome"}),
		resets: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "pgbox_feed_resets_total", Help: "Times the whole cache was emptied, by reason.",
		}, []string{"reason"}),
		large: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "pgbox_feed_large_transactions_total", Help: "Transactions with more rows than are kept.",
		}),
	}
}

var outcomes = map[cache.Outcome]string{cache.Absent: "absent", cache.Current: "current", cache.Patched: "patched",
	cache.Dropped: "dropped"}

func (c *counts) follow(o cache.Outcome) {
	switch o {
	case cache.Patched:
		c.patched.Add(1)
	case cache.Dropped:
		c.dropped.Add(1)
	}
	c.outcomes.WithLabelValues(outcomes[o]).Inc()
}

// collector reads the listener's state when it is asked.
type collector struct{ f *Feed }

var (
	descActive = prometheus.NewDesc("pgbox_feed_active", "1 for the mode that keeps cached trees current now.",
		[]string{"mode"}, nil)
	descLagBytes   = prometheus.NewDesc("pgbox_feed_lag_bytes", "Bytes of the write-ahead log not applied yet.", nil, nil)
	descLagSeconds = prometheus.NewDesc("pgbox_feed_lag_seconds",
		"How long the log has not been applied as far as it was on disk.", nil, nil)
	descReconnects = prometheus.NewDesc("pgbox_feed_reconnects_total", "Replication streams begun after the first.",
		nil, nil)
	descCommits   = prometheus.NewDesc("pgbox_feed_transactions_total", "Transactions heard.", nil, nil)
	descRows      = prometheus.NewDesc("pgbox_feed_rows_total", "Row changes heard.", nil, nil)
	descFollowers = prometheus.NewDesc("pgbox_feed_followers", "Streams of events that are open.", nil, nil)
)

func (c *collector) Describe(ch chan<- *prometheus.Desc) { prometheus.DescribeByCollect(c, ch) }

func (c *collector) Collect(ch chan<- prometheus.Metric) {
	gauge := func(d *prometheus.Desc, v float64, labels ...string) {
		ch <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v, labels...)
	}
	count := func(d *prometheus.Desc, v int64) {
		ch <- prometheus.MustNewConstMetric(d, prometheus.CounterValue, float64(v))
	}
	s, _ := c.f.state()
	for _, m := range []Mode{Replication, Version} {
		v := 0.0
		if (m == Replication) == s.Live {
			v = 1
		}
		gauge(descActive, v, string(m))
	}
	gauge(descLagBytes, float64(s.LagBytes))
	gauge(descLagSeconds, s.Lag.Seconds())
	gauge(descFollowers, float64(c.f.news.count()))
	count(descReconnects, max(0, s.Streams-1))
	count(descCommits, s.Commits)
	count(descRows, s.Changes)
}
