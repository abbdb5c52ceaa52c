/** The types of methods that may be decorated. */
import type { Observable } from 'rxjs'

/** The arguments of a method. They are inferred from the functions that a decorator is given. */
// oxlint-disable-next-line typescript/no-explicit-any -- a function may leave its own out
export type MethodArgs = any[]

/** A method that takes at least these arguments. It waits for a lock, so its result comes later. */
export type LockedMethod<Args extends MethodArgs> = (
  ...args: [...Args, ...never[]]
) => PromiseLike<unknown> | Observable<unknown>

/** A decorator of such a method. */
export type MethodDecoratorFor<Args extends MethodArgs> = <M extends LockedMethod<Args>>(
  target: object,
  key: string | symbol,
  descriptor: TypedPropertyDescriptor<M>,
) => void
