// A Go peer of `npm run bench -- --foreign`. bench/src/foreign/run-peer.ts has the arguments.
package main

import (
	"bufio"
	"fmt"
	"log"
	"os"
	"strconv"
	"sync"
	"sync/atomic"
	"time"
)

// pair acquires a lock and releases it.
type pair func() error

// openers make, for one loop, the pair of a library on the lock of that name.
var openers = map[string]func(address string) func(lock string) pair{
	"redsync":     redsyncPairs,
	"redislock":   redislockPairs,
	"rueidislock": rueidislockPairs,
	"concurrency": concurrencyPairs,
}

func main() {
	library, address := os.Args[1], os.Args[2]
	loops, hot := number(os.Args[3]), os.Args[4] == "hot"
	warmUp, run := milliseconds(os.Args[5]), milliseconds(os.Args[6])

	open := openers[library](address)
	pairs := make([]pair, loops)
	for loop := range pairs {
		lock := "hot"
		if !hot {
			lock = fmt.Sprintf("free-%d", loop)
		}
		pairs[loop] = open(lock)
	}
	fmt.Println("ready")
	if _, err := bufio.NewReader(os.Stdin).ReadString('\n'); err != nil {
		log.Fatal(err)
	}
	start := time.Now().Add(warmUp)
	count := countPairs(pairs, start, start.Add(run))
	fmt.Printf("{\"pairs\": %f}\n", float64(count)/run.Seconds())
}

// countPairs counts the pairs between start and end, while all loops run from now on.
func countPairs(pairs []pair, start, end time.Time) int64 {
	var count atomic.Int64
	var all sync.WaitGroup
	for _, one := range pairs {
		all.Go(func() {
			for time.Now().Before(end) {
				if err := one(); err != nil {
					log.Fatal(err)
				}
				if now := time.Now(); now.After(start) && now.Before(end) {
					count.Add(1)
				}
			}
		})
	}
	all.Wait()
	return count.Load()
}

func number(text string) int {
	value, err := strconv.Atoi(text)
	must(err)
	return value
}

func milliseconds(text string) time.Duration {
	return time.Duration(number(text)) * time.Millisecond
}

func must(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
