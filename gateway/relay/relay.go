// Package relay carries short messages to every gateway that shares a Redis, for what concerns a request that another
// of them may be serving. Nothing is kept: a message that is sent while Redis does not answer, or while a listener has
// lost its connection, is lost, so nothing may depend on one for more than being quick.
package relay

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
)

// bound is the longest a call of Redis takes.
const bound = 2 * time.Second

// Relay is one gateway's end. It is safe for concurrent use.
type Relay struct {
	client  *redis.Client
	channel string
	sub     *redis.PubSub
	running sync.WaitGroup
}

// New returns a Relay among all that were made with the same channel. It does not need Redis to be up yet; only the URL
// has to make sense.
func New(url, channel string) (*Relay, error) {
	o, err := redis.ParseURL(url)
	if err != nil {
		return nil, errors.New("REDIS_URL cannot be parsed") // the error's own text may hold the password
	}
	o.ContextTimeoutEnabled = true
	o.DialTimeout, o.ReadTimeout, o.WriteTimeout = bound, bound, bound
	o.PoolSize = 4
	r := &Relay{client: redis.NewClient(o), channel: channel}
	r.sub = r.client.Subscribe(context.Background(), channel)
	return r, nil
}

// Hear has f called with every message, the ones of this Relay too, one after the other.
func (r *Relay) Hear(f func(message string)) {
	messages := r.sub.Channel(redis.WithChannelSize(1024))
	r.running.Go(func() {
		for m := range messages {
			f(m.Payload)
		}
	})
}

// Send sends a message to all that hear, within two seconds.
func (r *Relay) Send(ctx context.Context, message string) error {
	ctx, cancel := context.WithTimeout(ctx, bound)
	defer cancel()
	return r.client.Publish(ctx, r.channel, message).Err()
}

// Close returns when nothing is heard any more.
func (r *Relay) Close() error {
	err := r.sub.Close()
	r.running.Wait()
	return errors.Join(err, r.client.Close())
}
