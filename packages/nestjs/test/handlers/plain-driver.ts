/** A driver of GraphQL without a server: a test runs the schema itself. */
import { Injectable } from '@nestjs/common'
import { AbstractGraphQLDriver } from '@nestjs/graphql'

@Injectable()
export class PlainDriver extends AbstractGraphQLDriver {
  async start(): Promise<void> {}

  async stop(): Promise<void> {}
}
