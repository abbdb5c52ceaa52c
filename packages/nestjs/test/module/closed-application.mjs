/**
 * A program whose application uses each part of the package, and closes. It prints what is left,
 * and ends by itself.
 */
import 'reflect-metadata'
import { channel } from 'node:diagnostics_channel'
import { Injectable, Module } from '@nestjs/common'
import { NestFactory } from '@nestjs/core'
import { Cron, ScheduleModule } from '@nestjs/schedule'
import {
  HoldfastModule,
  HoldfastHealthIndicator,
  LeaderOnly,
  Locked,
  OncePerTick,
} from '@holdfast/nestjs'
import { memoryStore } from 'holdfast/memory'
import { NEVER } from 'rxjs'

class Parts {
  async pay() {
    return 'paid'
  }

  async report() {}

  async lead() {
    return 'leads'
  }

  async stream() {
    return NEVER
  }
}

/** Applies decorators, the lowest first, without the syntax that Node does not have. */
function decorate(method, ...decorators) {
  for (const decorator of decorators) {
    const descriptor = Object.getOwnPropertyDescriptor(Parts.prototype, method)
    decorator(Parts.prototype, method, descriptor)
    Object.defineProperty(Parts.prototype, method, descriptor)
  }
}

Injectable()(Parts)
decorate('pay', Locked('pay'))
decorate('report', OncePerTick({ atLeastMs: 60_000 }), Cron('* * * * * *'))
decorate('lead', LeaderOnly('lead'))
decorate('stream', Locked('stream'))

const EVENTS = ['granted', 'released', 'lost', 'error', 'waiting']
const listeners = () => process.eventNames().flatMap((name) => process.listeners(name)).length

function App() {}
Module({
  imports: [
    HoldfastModule.forRootAsync({
      useFactory: () => ({ store: memoryStore(), closeGraceMs: 100 }),
    }),
    ScheduleModule.forRoot(),
  ],
  providers: [Parts],
})(App)
const before = listeners()
const app = await NestFactory.createApplicationContext(App, { logger: false })
const parts = app.get(Parts)
const results = [await parts.pay(), await parts.lead()]
const { locks } = await app.get(HoldfastHealthIndicator).pingCheck('locks')
const subscription = (await parts.stream()).subscribe({ error() {} })
await app.close()
subscription.unsubscribe()
console.log(
  JSON.stringify({
    results: [...results, locks.status],
    subscribed: EVENTS.filter((name) => channel(`holdfast:${name}`).hasSubscribers),
    listeners: listeners() - before,
  }),
)
