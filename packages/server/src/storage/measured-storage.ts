import type { StoreCall } from '../observability/index.ts'
import type { Storage } from './storage.ts'

type Method = (...given: unknown[]) => unknown

/** The same store. Each call that answers with a promise is reported when the promise settles. */
export function measuredStorage(storage: Storage, report: (call: StoreCall) => void): Storage {
  const measured: Partial<Record<keyof Storage, unknown>> = {}
  for (const name of Object.keys(storage) as Exclude<keyof Storage, symbol>[]) {
    const store = storage[name] as unknown
    if (typeof store === 'object' && store !== null) measured[name] = measuredStore(name, store, report)
  }
  return { ...storage, ...measured } as Storage
}

/** Wrapped once, so that a call costs two readings of the clock and no search. */
function measuredStore(store: string, target: object, report: (call: StoreCall) => void): object {
  const wrapped = Object.create(target) as Record<string, unknown>
  for (const name of methodsOf(target)) {
    const method = Reflect.get(target, name) as Method
    const call = `${store}.${name}`
    wrapped[name] = (...given: unknown[]): unknown => {
      const from = performance.now()
      const result = method.apply(target, given)
      if (!(result instanceof Promise)) return result
      const ended = (hasFailed: boolean) => report({ call, seconds: (performance.now() - from) / 1000, hasFailed })
      result.then(
        () => ended(false),
        () => ended(true),
      )
      return result
    }
  }
  return wrapped
}

/** Names of the functions of a store, which is an object or an instance of a class. */
function methodsOf(target: object): string[] {
  const names = new Set<string>()
  for (let at = target; at !== Object.prototype && at !== null; at = Object.getPrototypeOf(at) as object)
    for (const name of Object.getOwnPropertyNames(at))
      if (name !== 'constructor' && typeof Reflect.get(target, name) === 'function') names.add(name)
  return [...names]
}
