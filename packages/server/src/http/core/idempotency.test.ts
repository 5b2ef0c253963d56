import { expect, test } from 'vitest'
import type { Actor } from '../../conversation/index.ts'
import { makeCipher } from '../../secrets/cipher.ts'
import { openSqlite } from '../../storage/index.ts'
import { until } from '../../../testing/until.ts'
import { InvalidInput } from '../input/validation.ts'
import type { Answer } from './errors.ts'
import { IdempotentRequests } from './idempotency.ts'

const ann: Actor = { user: 'ann', role: 'user', keyId: 'k' }
const HOUR_MS = 3600 * 1000

type Asked = { key?: string; actor?: Actor; method?: string; url?: string; body?: string }

/** Requests with keys over a real store, at a time that the test sets. */
async function bench() {
  const storage = await openSqlite({ path: ':memory:' })
  const closing = new AbortController()
  const clock = { now: new Date('2026-01-01T00:00:00Z') }
  const warnings: object[] = []
  const deps = { store: storage.idempotency, cipher: makeCipher(Buffer.alloc(32, 1), 'a test') }
  const log = { warn: (fields: object) => void warnings.push(fields) }
  const open = (cipher = deps.cipher) => new IdempotentRequests({ ...deps, cipher, log, now: () => clock.now })
  let requests = open()
  let performed = 0
  return {
    storage,
    closing,
    warnings,
    performed: () => performed,
    later: (ms: number) => void (clock.now = new Date(clock.now.getTime() + ms)),
    /** Continues as the next process on the same store. */
    reopen(cipher = deps.cipher) {
      requests[Symbol.dispose]()
      requests = open(cipher)
    },
    expire: () => requests.expire(),
    ask(given: Answer | (() => Promise<Answer>), { key = 'k', actor = ann, body = 'b', ...asked }: Asked = {}) {
      const perform = async () => {
        performed += 1
        return typeof given === 'function' ? given() : given
      }
      const request = { key, actor, method: 'POST', url: '/things', ...asked, body: Buffer.from(body) }
      return requests.answer(request, perform, closing.signal)
    },
    async [Symbol.asyncDispose]() {
      requests[Symbol.dispose]()
      await storage[Symbol.asyncDispose]()
    },
  }
}

const made = { status: 201, body: { id: 1 }, headers: { location: '/things/1' }, about: 'c' }
const replayed = { ...made, headers: { ...made.headers, 'idempotency-replayed': 'true' } }

test('a repeated request gets the stored answer with its headers, also from the next process', async () => {
  await using it = await bench()
  expect(await it.ask(made)).toEqual(made)
  expect(await it.ask(made)).toEqual(replayed)
  it.reopen()
  expect(await it.ask(made)).toEqual(replayed)
  expect(it.performed()).toBe(1)
})

test('a key is remembered for 24 hours', async () => {
  await using it = await bench()
  await it.ask(made)
  it.later(24 * HOUR_MS)
  expect(await it.ask(made)).toEqual(replayed)
  it.later(1)
  expect(await it.ask(made)).toEqual(made)
  expect(it.performed()).toBe(2)
})

test('expired answers are deleted', async () => {
  await using it = await bench()
  await it.ask(made)
  it.later(24 * HOUR_MS + 1)
  await it.ask(made, { key: 'l' })
  await it.expire()
  const rows = (key: string) => it.storage.idempotency.get('ann', key, '')
  expect([await rows('k'), (await rows('l'))?.state]).toEqual([null, 'answered'])
})

test.each<[string, Asked]>([
  ['another body', { body: 'c' }],
  ['another path', { url: '/others' }],
  ['another query', { url: '/things?a=1' }],
  ['another method', { method: 'PUT' }],
  ['another role of the same user', { actor: { ...ann, role: 'admin' } }],
])('%s under a used key is refused, and the refusal names the header', async (_, asked) => {
  await using it = await bench()
  await it.ask(made)
  const refusal = await it.ask(made, asked).catch((error: unknown) => error)
  expect(refusal).toBeInstanceOf(InvalidInput)
  expect((refusal as InvalidInput).detail).toMatchObject([{ loc: ['header', 'Idempotency-Key'] }])
  expect(it.performed()).toBe(1)
})

test.each(['', ' ', 'a b', 'ä', 'a\n', 'x'.repeat(256)])('the malformed key %j is refused', async (key) => {
  await using it = await bench()
  await expect(it.ask(made, { key })).rejects.toThrow(InvalidInput)
  expect(it.performed()).toBe(0)
})

test('keys of 255 visible characters are accepted, and differ by case', async () => {
  await using it = await bench()
  for (const key of ['x'.repeat(255), 'X'.repeat(255), '!"#~']) expect(await it.ask(made, { key })).toEqual(made)
})

test('the same key of another user is another request, also while the first is at work', async () => {
  await using it = await bench()
  const done = Promise.withResolvers<Answer>()
  const first = it.ask(() => done.promise)
  await until(() => it.performed() === 1)
  expect(await it.ask(made, { actor: { ...ann, user: 'bob' } })).toEqual(made)
  done.resolve(made)
  expect(await first).toEqual(made)
  expect(await it.ask({ status: 200 }, { actor: { ...ann, user: 'eve' } })).toEqual({ status: 200 })
})

test('while a request is at work its repetition gets 409 with a wait, and another request under its key 422', async () => {
  await using it = await bench()
  const done = Promise.withResolvers<Answer>()
  const first = it.ask(() => done.promise)
  await until(() => it.performed() === 1)
  expect(await it.ask(made)).toMatchObject({
    status: 409,
    headers: { 'retry-after': '1' },
    body: { reason: 'idempotency_key_in_use' },
  })
  await expect(it.ask(made, { body: 'c' })).rejects.toThrow(InvalidInput)
  done.resolve(made)
  await first
  expect(await it.ask(made)).toEqual(replayed)
  expect(it.performed()).toBe(1)
})

test('of requests that arrive together one is carried out', async () => {
  await using it = await bench()
  const answers = await Promise.all(Array.from({ length: 10 }, () => it.ask(made)))
  expect(it.performed()).toBe(1)
  expect(answers.map((answer) => 'status' in answer && answer.status).toSorted()).toEqual([
    201,
    ...Array<number>(9).fill(409),
  ])
})

test('of two different requests that arrive together under one key, the second is refused', async () => {
  await using it = await bench()
  const [first, second] = await Promise.allSettled([it.ask(made), it.ask(made, { body: 'c' })])
  expect(first).toMatchObject({ status: 'fulfilled', value: made })
  expect(second).toMatchObject({ status: 'rejected', reason: expect.any(InvalidInput) })
  expect(it.performed()).toBe(1)
})

test.each([400, 404, 409, 422, 501, 503, 507])(
  'a request refused with %d changed nothing, so its key is free again',
  async (status) => {
    await using it = await bench()
    await it.ask({ status, body: { detail: 'no' } })
    expect(await it.ask(made, { body: 'corrected' })).toEqual(made)
  },
)

test.each([500, 504])('after %d the outcome is unknown, and the request is not carried out again', async (status) => {
  await using it = await bench()
  await it.ask({ status })
  expect(await it.ask(made)).toMatchObject({ status: 409, body: { reason: 'idempotency_outcome_unknown' } })
  expect(it.performed()).toBe(1)
})

test('a refusal of a request that took effect is its answer', async () => {
  await using it = await bench()
  await it.ask({ status: 504, body: { detail: 'later' }, tookEffect: true })
  expect(await it.ask(made)).toMatchObject({ status: 504, headers: { 'idempotency-replayed': 'true' } })
})

test('a request that the end of the server cut off has an unknown outcome, whatever its answer was', async () => {
  await using it = await bench()
  await it.ask(async () => {
    it.closing.abort()
    return { status: 503 }
  })
  it.reopen()
  expect(await it.ask(made)).toMatchObject({ status: 409, body: { reason: 'idempotency_outcome_unknown' } })
  expect(it.performed()).toBe(1)
})

test('the outcome of a request that an earlier process began is unknown, also to an equal request', async () => {
  await using it = await bench()
  void it.ask(() => new Promise(() => undefined))
  await until(() => it.performed() === 1)
  it.reopen()
  const answer = (await it.ask(made)) as Answer & { body: { detail: string } }
  expect(answer.status).toBe(409)
  expect(answer.body.detail).toContain('new key')
  await expect(it.ask(made, { body: 'c' })).rejects.toThrow(InvalidInput)
  expect(it.performed()).toBe(1)
})

test('of an answer that is too long, and of a stream, only the fact is kept that the request took effect', async () => {
  await using it = await bench()
  await it.ask({ status: 200, body: 'x'.repeat(600_000) }, { key: 'long' })
  await it.ask({ stream() {} } as unknown as Answer, { key: 'stream' })
  for (const key of ['long', 'stream'])
    expect(await it.ask(made, { key })).toMatchObject({ status: 409, body: { reason: 'idempotency_answer_not_kept' } })
  expect(it.performed()).toBe(2)
})

test('a stored answer is sealed, and one that cannot be opened counts as not kept', async () => {
  await using it = await bench()
  await it.ask({ status: 200, body: { key: 'the new secret' } })
  const row = await it.storage.idempotency.get('ann', 'k', '')
  expect(row?.sealed).toMatch(/^v1:/)
  it.reopen(makeCipher(Buffer.alloc(32, 2), 'another key'))
  expect(await it.ask(made)).toMatchObject({ status: 409, body: { reason: 'idempotency_answer_not_kept' } })
  expect(it.warnings).toHaveLength(1)
})

test('an answer that cannot be stored is sent, and its key is not used again', async () => {
  await using it = await bench()
  const { idempotency } = it.storage
  const { answered } = idempotency
  idempotency.answered = () => Promise.reject(new Error('the disk is full'))
  expect(await it.ask(made)).toEqual(made)
  idempotency.answered = answered
  expect(await it.ask(made)).toMatchObject({ status: 409, body: { reason: 'idempotency_outcome_unknown' } })
  expect(it.warnings).toHaveLength(1)
})

test('of a user the newest thousand requests are remembered, and about fifty more', async () => {
  await using it = await bench()
  for (let n = 1; n <= 1101; n++) await it.ask(made, { key: `k${n}` })
  await until(async () => (await it.storage.idempotency.get('ann', 'k101', '')) === null)
  expect(await it.ask(made, { key: 'k102' })).toEqual(replayed)
})
