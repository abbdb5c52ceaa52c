/** The conformance suite over a Redis server that is reached over HTTP. */
import { suiteOver } from './subject.js'

await suiteOver('redis', {
  library: 'http',
  skip: [
    {
      reason: 'requests over HTTP overtake each other, so the store sees callers in another order',
      tests: ['callers of one client get permits in the order of their calls'],
    },
    {
      reason: 'a dead waiter costs three heartbeats, which have 7 s here, since each is billed',
      tests: ['a killed waiter loses its place'],
    },
  ],
})
