/** A store that counts its calls. Everything else is the wrapped store. */
import type { Append, Storage } from '../src/storage/index.ts'

export type StoreCalls = {
  /** Calls by store and name, such as `conversations.append`, since the last reset. */
  of: Map<string, number>
  /** End of the log and status after the newest append that was stored. */
  newest: { seq: number; status: string | null }
  reset(): void
}

export function countingStorage(storage: Storage, calls: StoreCalls): Storage {
  const counted = (name: string, store: object): object =>
    new Proxy(store, {
      get(from, member) {
        const call: unknown = Reflect.get(from, member)
        if (typeof call !== 'function') return call
        return (...given: unknown[]): unknown => {
          const key = `${name}.${String(member)}`
          calls.of.set(key, (calls.of.get(key) ?? 0) + 1)
          const result: unknown = call.apply(from, given)
          return key === 'conversations.append' ? noted(result as Promise<void>, given[0] as Append) : result
        }
      },
    })
  const noted = async (stored: Promise<void>, { expectedSeq, events, row }: Append) => {
    await stored
    calls.newest = { seq: expectedSeq + events.length, status: row?.status ?? calls.newest.status }
  }
  return new Proxy(storage, {
    get(target, name) {
      const store = Reflect.get(target, name) as unknown
      return typeof name === 'string' && typeof store === 'object' && store !== null ? counted(name, store) : store
    },
  })
}

export function storeCalls(): StoreCalls {
  const of = new Map<string, number>()
  return { of, newest: { seq: 0, status: null }, reset: () => of.clear() }
}
