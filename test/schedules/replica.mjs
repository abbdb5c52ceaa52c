/**
 * A replica of a service with a job in each library, at each period.
 *
 * Its argument is JSON: `{ port, periods, atLeastMs }`, the port of a Redis and the periods in
 * seconds. It prints a line of JSON when it is ready, and one for each run and each slot that it
 * leaves to another replica. After SIGTERM it stops everything, prints what is left, and ends by
 * itself. A stop that takes long prints what it waits for.
 */
import 'reflect-metadata'
import { channel } from 'node:diagnostics_channel'
import { HoldfastModule, OncePerTick } from '@holdfast/nestjs'
import { Injectable, Module } from '@nestjs/common'
import { NestFactory } from '@nestjs/core'
import { createLocks, onLockEvent } from 'holdfast'
import { oncePerTick, runCoordinator, slotOf } from 'holdfast/cron'
import { redisStore } from 'holdfast/redis'
import { Redis } from 'ioredis6'
import { CronJob } from 'cron'
import { Cron } from 'croner'
import { schedule, shutdown } from 'node-cron'
import { scheduledJobs, scheduleJob } from 'node-schedule'

const { port, periods, atLeastMs } = JSON.parse(process.argv[2])
const client = new Redis(port)
const locks = createLocks(redisStore({ client }))
/** What stops the jobs of the libraries. */
const stops = [shutdown, cancelJobs]
/** Runs that `end` waits for: the stops of croner and node-schedule do not. */
const running = new Set()
await locks.ping()

function print(line) {
  process.stdout.write(`${JSON.stringify(line)}\n`)
}

function onSkip({ name, slot, reason }) {
  print({ name, slot: slot.getTime(), reason })
}

/**
 * Returns the terms of a job. A replica whose clock is further apart than the period works on
 * another slot at the same moment.
 */
function termsOf(seconds) {
  return { atLeastMs, overlap: seconds === 1 ? 'queue' : 'skip' }
}

/** Returns what a library is handed: its runs name themselves. */
function wrapped(name, terms) {
  const work = (lease, slot) => print({ name, slot: slot.getTime() })
  const tick = oncePerTick(locks, work, { ...terms, onSkip })
  return function (...args) {
    const run = tick.apply(this, args)
    running.add(run)
    return run.finally(() => running.delete(run))
  }
}

/**
 * Cancels the jobs of node-schedule. Its `gracefulShutdown` leaves an interval when a job works,
 * and the process never ends: https://github.com/node-schedule/node-schedule/pull/752.
 */
function cancelJobs() {
  for (const job of Object.values(scheduledJobs)) job.cancel()
}

/** How each library starts a job. */
const SCHEDULERS = {
  croner(name, pattern, terms) {
    const job = new Cron(pattern, { name }, wrapped(name, terms))
    stops.push(() => job.stop())
  },
  cron(name, cronTime, terms) {
    const job = CronJob.from({ cronTime, name, onTick: wrapped(name, terms), start: true })
    stops.push(() => job.stop())
  },
  'node-schedule': (name, pattern, terms) => scheduleJob(name, pattern, wrapped(name, terms)),
  'node-cron': (name, pattern, terms) => schedule(pattern, wrapped(name, terms), { name }),
  coordinator(name, pattern, terms) {
    const work = ({ date }) => print({ name, slot: date.getTime() })
    const coordinator = runCoordinator(locks, terms)
    const task = { name, distributed: true, runCoordinator: coordinator }
    schedule(pattern, work, task).on('execution:skipped', ({ date, reason }) =>
      print({ name, slot: date.getTime(), reason }),
    )
  },
}

/** Returns a class of NestJS with a method for each period. */
function jobsOf(library) {
  class Jobs {
    constructor(registry) {
      this.registry = registry
    }

    async tick(seconds) {
      const name = `${library} ${seconds}`
      const slot = slotOf(this.registry.getCronJob(name))
      const work = () => print({ name, slot: slot.getTime() })
      const result = await locks.oncePerTick(name, work, { slot, ...termsOf(seconds) })
      if (!result.ran) onSkip({ name, slot, reason: result.reason })
    }
  }
  for (const seconds of periods)
    Jobs.prototype[`each${seconds}`] = function () {
      return this.tick(seconds)
    }
  return Jobs
}

/** A class of NestJS with decorated methods. */
function DecoratedJobs() {}

/** Adds methods, which learn their slot from the lock that was granted. */
function addDecoratedJobs(library) {
  for (const seconds of periods) {
    const name = `${library} ${seconds}`
    const taken = []
    const stop = onLockEvent('granted', ({ lock }) => {
      const [schedule, slot] = lock.split('@tick:')
      if (schedule === name && slot !== undefined) taken.push(Date.parse(slot))
    })
    stops.push(stop)
    DecoratedJobs.prototype[`each${seconds}`] = async () => print({ name, slot: taken.shift() })
    decorate(DecoratedJobs, seconds, OncePerTick({ name, ...termsOf(seconds) }))
  }
}

/** Applies a decorator, without the syntax that Node does not have. */
function decorate({ prototype }, seconds, decorator) {
  const method = `each${seconds}`
  const descriptor = Object.getOwnPropertyDescriptor(prototype, method)
  decorator(prototype, method, descriptor)
  Object.defineProperty(prototype, method, descriptor)
}

/** The module of NestJS, which each start decorates. */
function App() {}

async function startNest(library, Jobs, schedules, imports = []) {
  const { Cron: Scheduled, ScheduleModule, SchedulerRegistry } = schedules
  Injectable()(Jobs)
  if (Jobs.length > 0) Reflect.defineMetadata('design:paramtypes', [SchedulerRegistry], Jobs)
  for (const seconds of periods)
    decorate(Jobs, seconds, Scheduled(`*/${seconds} * * * * *`, { name: `${library} ${seconds}` }))
  Module({ imports: [...imports, ScheduleModule.forRoot()], providers: [Jobs] })(App)
  const app = await NestFactory.createApplicationContext(App, { logger: ['error'] })
  await app.init()
  stops.push(() => app.close())
}

for (const [library, start] of Object.entries(SCHEDULERS))
  for (const seconds of periods)
    start(`${library} ${seconds}`, `*/${seconds} * * * * *`, termsOf(seconds))
const schedules = await import('@nestjs/schedule')
await startNest('nestjs', jobsOf('nestjs'), schedules)
await startNest('nestjs 12', jobsOf('nestjs 12'), await import('nestjs-schedule12'))
const holdfast = HoldfastModule.forRootAsync({
  useFactory: () => ({ store: redisStore({ client }) }),
})
addDecoratedJobs('@OncePerTick')
await startNest('@OncePerTick', DecoratedJobs, schedules, [holdfast])
print({ ready: process.pid })

/** A stop that takes this long prints what it waits for. */
const SLOW_STOP_MS = 20_000

const runsEnd = () => Promise.allSettled(running)

async function end() {
  let step = ''
  const report = () => print({ step, resources: process.getActiveResourcesInfo() })
  setTimeout(report, SLOW_STOP_MS).unref()
  const steps = [...stops, runsEnd, () => locks.close(), () => client.quit()]
  for (const [at, stop] of steps.entries()) {
    step = `${at + 1} of ${steps.length}: ${stop.name || String(stop)}`
    await stop()
  }
  step = 'the end of the process'
  print({
    subscribed: ['granted', 'error'].some((name) => channel(`holdfast:${name}`).hasSubscribers),
  })
}

process.once('SIGTERM', () => void end())
