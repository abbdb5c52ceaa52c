package main

import (
	"context"
	"math"
	"strings"
	"time"

	"github.com/bsm/redislock"
	"github.com/go-redsync/redsync/v4"
	"github.com/go-redsync/redsync/v4/redis/goredis/v9"
	"github.com/redis/go-redis/v9"
	"github.com/redis/rueidis"
	"github.com/redis/rueidis/rueidislock"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/client/v3/concurrency"
)

const (
	ttl = 30 * time.Second
	// In favour of the clients that poll: their defaults wait for longer.
	retry = 5 * time.Millisecond
)

var background = context.Background()

func redsyncPairs(address string) func(string) pair {
	client := redis.NewClient(&redis.Options{Addr: address})
	locks := redsync.New(goredis.NewPool(client))
	return func(lock string) pair {
		mutex := locks.NewMutex(lock, redsync.WithExpiry(ttl),
			redsync.WithRetryDelay(retry), redsync.WithTries(math.MaxInt))
		return func() error {
			if err := mutex.Lock(); err != nil {
				return err
			}
			_, err := mutex.Unlock()
			return err
		}
	}
}

func redislockPairs(address string) func(string) pair {
	locks := redislock.New(redis.NewClient(&redis.Options{Addr: address}))
	options := &redislock.Options{RetryStrategy: redislock.LinearBackoff(retry)}
	return func(lock string) pair {
		return func() error {
			held, err := locks.Obtain(background, lock, ttl, options)
			if err != nil {
				return err
			}
			return held.Release(background)
		}
	}
}

// One key a lock: by default there are three, for servers that may fail.
func rueidislockPairs(address string) func(string) pair {
	locker, err := rueidislock.NewLocker(rueidislock.LockerOption{
		ClientOption: rueidis.ClientOption{InitAddress: []string{address}},
		KeyMajority:  1,
		KeyValidity:  ttl,
	})
	must(err)
	return func(lock string) pair {
		return func() error {
			_, release, err := locker.WithContext(background, lock)
			if err == nil {
				release()
			}
			return err
		}
	}
}

// A session for each loop, since loops of one session share its lock.
func concurrencyPairs(address string) func(string) pair {
	client, err := clientv3.New(clientv3.Config{Endpoints: strings.Split(address, ",")})
	must(err)
	return func(lock string) pair {
		session, err := concurrency.NewSession(client, concurrency.WithTTL(int(ttl.Seconds())))
		must(err)
		mutex := concurrency.NewMutex(session, "/peer/"+lock)
		return func() error {
			if err := mutex.Lock(background); err != nil {
				return err
			}
			return mutex.Unlock(background)
		}
	}
}
