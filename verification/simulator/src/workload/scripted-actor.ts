/** An actor that follows its script. After a crash a successor starts with the next operation. */
import { Actor, type ActorScript, type Environment, type Operation } from '@holdfast/workload'

export class ScriptedActor {
  readonly script: ActorScript
  /** Which operation is next. */
  position: number
  done = false
  readonly #actor: Actor

  constructor(script: ActorScript, environment: Environment, position = 0) {
    this.script = script
    this.position = position
    this.#actor = new Actor(script.name, environment)
  }

  async run(): Promise<void> {
    await this.#actor.run(() => {
      const operation = this.script.operations[this.position]
      this.position += 1
      return operation && stepOf(operation)
    })
    this.done = true
  }
}

function stepOf(operation: Operation): ReturnType<Parameters<Actor['run']>[0]> {
  return { thinkMs: operation.thinkMs, act: (actor) => actor.perform(operation) }
}
