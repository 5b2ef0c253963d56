import { expect, test } from 'vitest'
import { forSeeds } from '../../testing/campaign.ts'
import { random } from '../../testing/random-history.ts'
import { until } from '../../testing/until.ts'
import { FairSlots, type Shares } from './fair-slots.ts'

const never = new AbortController().signal

/** Requests in the order in which they are granted, as `user` and number. */
function bench(shares: Shares) {
  const slots = new FairSlots(shares)
  const granted: string[] = []
  const held = new Map<string, Disposable>()
  const take = (name: string) =>
    void slots.take(name[0]!, never).then((slot) => {
      granted.push(name)
      held.set(name, slot)
    })
  const give = async (name: string) => {
    await until(() => held.has(name))
    held.get(name)![Symbol.dispose]()
  }
  const take70 = () => {
    for (let n = 1; n <= 70; n += 1) take(`b${n}`)
  }
  return { slots, granted, take, give, take70 }
}

test('the first slot that frees goes to a user without one, whatever number of requests another user has', async () => {
  const { granted, take, give, take70 } = bench({ count: 4 })
  take70()
  take('a1')
  await until(() => granted.length === 4)
  await give('b1')
  await until(() => granted.length === 5)
  expect(granted.at(-1)).toBe('a1')
})

test('a reserved slot is granted at once to a user without one, and to no other user', async () => {
  const { slots, granted, take, take70 } = bench({ count: 4, reserved: 1 })
  take70()
  await until(() => granted.length === 3)
  expect(slots.of('b')).toEqual({ held: 3, waiting: 67 })
  take('a1')
  take('a2')
  await until(() => granted.length === 4)
  expect(granted.at(-1)).toBe('a1')
  expect(slots.of('a')).toEqual({ held: 1, waiting: 1 })
})

test('the limit of a user leaves the other slots to others, and its requests follow in their order', async () => {
  const { slots, granted, take, give, take70 } = bench({ count: 8, mostOf: (user) => (user === 'b' ? 2 : Infinity) })
  take70()
  for (const name of ['a1', 'a2', 'a3']) take(name)
  await until(() => granted.length === 5)
  await give('b2')
  await give('b1')
  await until(() => granted.length === 7)
  expect(granted).toEqual(['b1', 'b2', 'a1', 'a2', 'a3', 'b3', 'b4'])
  expect(slots.of('b')).toEqual({ held: 2, waiting: 66 })
})

test('a slot that is given back twice is granted once', async () => {
  const { slots, granted, take } = bench({ count: 1 })
  const slot = await slots.take('a', never)
  for (const name of ['b1', 'c1']) take(name)
  slot[Symbol.dispose]()
  slot[Symbol.dispose]()
  await until(() => granted.length === 1)
  expect(slots.of('c')).toEqual({ held: 0, waiting: 1 })
})

test('a slot that is granted to a request that is aborted at the same moment goes to the next', async () => {
  const { slots, granted, take } = bench({ count: 1 })
  const gone = slots.take('a', AbortSignal.abort(new Error('gone')))
  take('b1')
  await expect(gone).rejects.toThrow('gone')
  await until(() => granted.length === 1)
  expect(slots.of('a')).toEqual({ held: 0, waiting: 0 })
})

test('a single slot is granted although it is reserved for users without one', async () => {
  const { granted, take } = bench({ count: 1, reserved: 1 })
  take('a1')
  await until(() => granted.length === 1)
})

/** Users with their requests that wait, oldest first, and that hold a slot. */
type Model = Map<string, { waiting: string[]; holding: string[] }>

test('no user is granted a slot while one with fewer waits for it, and no slot that may be taken stays free', async () => {
  await forSeeds({ seconds: 1, least: 50 }, async (seed) => {
    const next01 = random(seed)
    const below = (n: number) => Math.floor(next01() * n)
    const count = 1 + below(6)
    const reserved = Math.min(below(3), count - 1)
    const mosts = [1 + below(4), 1 + below(8), Infinity, Infinity]
    const mostOf = (user: string) => mosts[Number(user)]!
    const slots = new FairSlots({ count, reserved, mostOf })
    const model: Model = new Map(mosts.map((_, user) => [String(user), { waiting: [], holding: [] }]))
    const requests = new Map<string, { stop: AbortController; slot?: Disposable }>()
    const free = () => count - [...model.values()].reduce((sum, { holding }) => sum + holding.length, 0)
    const mayTake = ([user, { waiting, holding }]: [string, { waiting: string[]; holding: string[] }]) =>
      waiting.length > 0 && holding.length < mostOf(user) && free() > (holding.length === 0 ? 0 : reserved)
    let arrived = 0

    for (let step = 0; step < 120; step += 1) {
      const user = String(below(mosts.length))
      const { waiting, holding } = model.get(user)!
      const action = below(10)
      if (action < 5) {
        const name = `${user}.${arrived++}`
        const stop = new AbortController()
        requests.set(name, { stop })
        waiting.push(name)
        slots.take(user, stop.signal).then(
          (slot) => void (requests.get(name)!.slot = slot),
          () => undefined,
        )
      } else if (action < 9 && holding.length > 0) {
        const name = holding.splice(below(holding.length), 1)[0]!
        requests.get(name)!.slot![Symbol.dispose]()
      } else if (waiting.length > 0) {
        const name = waiting.splice(below(waiting.length), 1)[0]!
        requests.get(name)!.stop.abort(new Error('gone'))
      }
      await new Promise((resolve) => setImmediate(resolve))
      // The model grants as the rules say: fewest slots first, then the oldest request.
      for (;;) {
        const age = (name: string) => Number(name.split('.')[1])
        const [next] = [...model.entries()]
          .filter(mayTake)
          .map(([, of]) => of)
          .toSorted((a, b) => a.holding.length - b.holding.length || age(a.waiting[0]!) - age(b.waiting[0]!))
        if (next === undefined) break
        next.holding.push(next.waiting.shift()!)
      }
      for (const [name, { waiting, holding }] of model) {
        expect(slots.of(name)).toEqual({ held: holding.length, waiting: waiting.length })
        for (const request of holding) expect(requests.get(request)!.slot).toBeDefined()
      }
      const sum = (of: 'holding' | 'waiting') => [...model.values()].reduce((total, user) => total + user[of].length, 0)
      expect(slots.total()).toEqual({ held: sum('holding'), waiting: sum('waiting') })
    }
  })
})
