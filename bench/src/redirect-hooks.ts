/** The module hooks that `redirect.ts` installs. */
import type { InitializeHook, ResolveHook } from 'node:module'

/** A file of the package from which `holdfast` is to be taken. */
let base: string | undefined

export const initialize: InitializeHook<string> = (url) => {
  base = url
}

/** Resolves a name of the package as that package itself would. */
export const resolve: ResolveHook = (specifier, context, next) => {
  const isOurs = specifier === 'holdfast' || specifier.startsWith('holdfast/')
  return next(specifier, isOurs && base !== undefined ? { ...context, parentURL: base } : context)
}
