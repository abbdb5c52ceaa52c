/**
 * A replica of a service with a job in each library, at each period.
 *
 * Its argument is JSON: `{ port, periods, atLeastMs }`, the port of a Redis and the periods in
 * seconds. It prints a line of JSON when it is ready, and one for each run and each slot that it
 * leaves to another replica.
 */
import 'reflect-metadata'
import { Injectable, Module } from '@nestjs/common'
import { NestFactory } from '@nestjs/core'
import { createLocks } from 'holdfast'
import { oncePerTick, runCoordinator, slotOf } from 'holdfast/cron'
import { redisStore } from 'holdfast/redis'
import { Redis } from 'ioredis6'
import { CronJob } from 'cron'
import { Cron } from 'croner'
import { schedule } from 'node-cron'
import { scheduleJob } from 'node-schedule'

const { port, periods, atLeastMs } = JSON.parse(process.argv[2])
const locks = createLocks(redisStore({ client: new Redis(port) }))
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
  return oncePerTick(locks, work, { ...terms, onSkip })
}

/** How each library starts a job. */
const SCHEDULERS = {
  croner: (name, pattern, terms) => new Cron(pattern, { name }, wrapped(name, terms)),
  cron: (name, cronTime, terms) =>
    CronJob.from({ cronTime, name, onTick: wrapped(name, terms), start: true }),
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

/** The module of NestJS, which each start decorates. */
function App() {}

/** Starts the jobs of NestJS: decorated methods, without the syntax that Node does not have. */
async function startNest(library, { Cron: Scheduled, ScheduleModule, SchedulerRegistry }) {
  const Jobs = jobsOf(library)
  Injectable()(Jobs)
  Reflect.defineMetadata('design:paramtypes', [SchedulerRegistry], Jobs)
  for (const seconds of periods) {
    const method = `each${seconds}`
    const decorate = Scheduled(`*/${seconds} * * * * *`, { name: `${library} ${seconds}` })
    decorate(Jobs.prototype, method, Object.getOwnPropertyDescriptor(Jobs.prototype, method))
  }
  Module({ imports: [ScheduleModule.forRoot()], providers: [Jobs] })(App)
  const app = await NestFactory.createApplicationContext(App, { logger: ['error'] })
  await app.init()
}

for (const [library, start] of Object.entries(SCHEDULERS))
  for (const seconds of periods)
    start(`${library} ${seconds}`, `*/${seconds} * * * * *`, termsOf(seconds))
await startNest('nestjs', await import('@nestjs/schedule'))
await startNest('nestjs 12', await import('nestjs-schedule12'))
print({ ready: process.pid })
