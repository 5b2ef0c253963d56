import { expect, test } from 'vitest'
import { openSqlite } from '../storage/index.ts'
import { openLimits } from './limits.ts'
import { Uploads } from './uploads.ts'

const limits = openLimits({ everyone: { upload_bytes: 10, upload_bytes_per_day: 25 }, users: new Map() }, true)

async function* pieces(...sizes: number[]): AsyncIterable<Uint8Array> {
  for (const size of sizes) yield new Uint8Array(size)
}

async function bench() {
  const storage = await openSqlite({ path: ':memory:' })
  let now = new Date('2026-01-31T23:00:00Z')
  const uploads = new Uploads(limits, storage.usage, () => now)
  const send = async (user: string, ...sizes: number[]) => {
    let read = 0
    for await (const piece of uploads.counted(user, pieces(...sizes))) read += piece.length
    return read
  }
  const used = async (user: string) => (await storage.usage.of(user, now)).uploaded_bytes
  const wait = (time: string) => void (now = new Date(time))
  return { storage, uploads, send, used, wait, [Symbol.asyncDispose]: () => storage[Symbol.asyncDispose]() }
}

test('an upload above the limit is refused at the piece that exceeds it, and what arrived is counted', async () => {
  await using at = await bench()
  expect(await at.send('ann', 4, 6)).toBe(10)
  await expect(at.send('ann', 4, 6, 1, 90)).rejects.toMatchObject({
    code: 'too_large',
    message: expect.stringMatching(
      /^The limit upload_bytes of this user is exceeded: more than 10 bytes\. Send less, or ask/,
    ) as string,
    details: { limit: 'upload_bytes', allowed: 10 },
  })
  expect(await at.used('ann')).toBe(21)
})

test('the uploads of a day end at the limit of the day, also after a restart, and begin again on the next', async () => {
  await using at = await bench()
  await at.send('ann', 10)
  await at.send('ann', 10)
  const full = {
    code: 'rate_limited',
    details: { limit: 'upload_bytes_per_day', allowed: 25, used: 26, retry_after_seconds: 3600 },
  }
  await expect(at.send('ann', 6)).rejects.toMatchObject(full)
  expect(await at.send('bob', 6)).toBe(6)
  const restarted = new Uploads(limits, at.storage.usage, () => new Date('2026-01-31T23:00:00Z'))
  await expect(restarted.counted('ann', pieces(1))[Symbol.asyncIterator]().next()).rejects.toMatchObject({
    code: 'rate_limited',
  })
  at.wait('2026-02-01T00:00:00Z')
  expect(await at.send('ann', 6)).toBe(6)
  expect(await at.used('ann')).toBe(6)
})

test('uploads at the same time are counted together, and one that is cut off keeps what arrived', async () => {
  await using at = await bench()
  const open = [1, 2, 3].map(() => at.uploads.counted('ann', pieces(9, 1))[Symbol.asyncIterator]())
  expect((await open[0]!.next()).done).toBe(false)
  expect((await open[1]!.next()).done).toBe(false)
  await expect(open[2]!.next()).rejects.toMatchObject({ code: 'rate_limited' })
  await open[0]!.return!()
  await open[1]!.return!()
  expect(await at.used('ann')).toBe(27)
})
