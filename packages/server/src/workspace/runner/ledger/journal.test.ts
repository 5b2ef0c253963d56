import fs, { appendFileSync, readFileSync, statSync, truncateSync, writeFileSync } from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'
import { afterEach, expect, test, vi } from 'vitest'
import { tempDir } from '../../../../testing/temp.ts'
import { Journal } from './journal.ts'

const records = (journal: Journal) => [...journal.lines()].map(({ record }) => record as { n: number } | undefined)
const numbers = (journal: Journal) => records(journal).map((record) => record?.n)

/** Replaces one function of `node:fs` for all importers until the test ends. */
function replaceFs<K extends 'fdatasync' | 'fsyncSync' | 'ftruncateSync' | 'writeSync'>(
  name: K,
  by: (real: (typeof fs)[K]) => unknown,
) {
  const real = fs[name]
  vi.spyOn(fs, name).mockImplementation(by(real) as never)
  syncBuiltinESMExports()
}

afterEach(() => {
  vi.restoreAllMocks()
  syncBuiltinESMExports()
})

const full = () => Object.assign(new Error('ENOSPC: no space left on device, write'), { code: 'ENOSPC' })

/** Makes every write end after seven bytes, with an error, until the returned function is called. */
function cutWrites(): () => void {
  let isFull = true
  replaceFs('writeSync', (real) => (fd: number, bytes: Buffer, from = 0, ...rest: number[]) => {
    if (!isFull) return (real as (...args: unknown[]) => number)(fd, bytes, from, ...rest)
    if (from > 0) throw full()
    return (real as (...args: unknown[]) => number)(fd, bytes, 0, 7)
  })
  return () => void (isFull = false)
}

test('a write that the disk cuts off leaves nothing behind, and later lines are whole', async () => {
  await using dir = await tempDir()
  const journal = new Journal(dir.file('j'))
  journal.append({ n: 1 })
  const free = cutWrites()
  expect(() => journal.append({ n: 2 })).toThrow('ENOSPC')
  free()
  const at = journal.append({ n: 3 })
  expect(journal.readAt(at)).toMatchObject({ n: 3 })
  expect(numbers(journal)).toEqual([1, 3])
  journal.close()
})

test('the rest of a cut line that cannot be removed at once is removed before the next line', async () => {
  await using dir = await tempDir()
  const journal = new Journal(dir.file('j'))
  journal.append({ n: 1 })
  const free = cutWrites()
  let failures = 1
  replaceFs('ftruncateSync', (real) => (...args: Parameters<typeof real>) => {
    if (failures-- > 0) throw full()
    real(...args)
  })
  expect(() => journal.append({ n: 2 })).toThrow('ENOSPC')
  free()
  journal.append({ n: 3 })
  expect(numbers(journal)).toEqual([1, 3])
  journal.close()
})

test('a line that was damaged after it was written is not read as a record', async () => {
  await using dir = await tempDir()
  const journal = new Journal(dir.file('j'))
  const at = journal.append({ n: 1 })
  writeFileSync(dir.file('j'), readFileSync(dir.file('j'), 'utf8').replace('"n":1', '"n":2'))
  expect(() => journal.readAt(at)).toThrow('damaged')
  journal.close()
})

test('a changed, a missing or an added byte makes its line unreadable, and no other line', async () => {
  await using dir = await tempDir()
  const path = dir.file('j')
  const journal = new Journal(path)
  for (let n = 1; n <= 3; n++) journal.append({ n })
  journal.close()
  const whole = readFileSync(path)
  const first = whole.indexOf(10) + 1
  const second = whole.indexOf(10, first)
  for (let at = first; at < second; at++) {
    const changed = Buffer.from(whole)
    changed[at] = changed[at] === 0x31 ? 0x32 : 0x31
    const missing = Buffer.concat([whole.subarray(0, at), whole.subarray(at + 1)])
    const added = Buffer.concat([whole.subarray(0, at), Buffer.from('7'), whole.subarray(at)])
    for (const bytes of [changed, missing, added]) {
      writeFileSync(path, bytes)
      const damaged = new Journal(path)
      expect(numbers(damaged), `byte ${at}`).toEqual([1, undefined, 3])
      damaged.close()
    }
  }
})

test('an incomplete last line is reported as unreadable, wherever it is cut', async () => {
  await using dir = await tempDir()
  const path = dir.file('j')
  const journal = new Journal(path)
  journal.append({ n: 1 })
  const { size } = statSync(path)
  journal.append({ n: 2 })
  journal.close()
  const whole = readFileSync(path)
  for (let length = size + 1; length < whole.length; length++) {
    writeFileSync(path, whole)
    truncateSync(path, length)
    const torn = new Journal(path)
    expect(numbers(torn), `${length} bytes`).toEqual([1, undefined])
    torn.close()
  }
})

test('lines without a checksum, which version 0.1.0 wrote, and blanked lines are not damage', async () => {
  await using dir = await tempDir()
  const path = dir.file('j')
  writeFileSync(path, `{"n":1}\n       \n`)
  const journal = new Journal(path)
  journal.append({ n: 2 })
  expect(numbers(journal)).toEqual([1, 2])
  appendFileSync(path, '')
  journal.close()
})

test('durable() resolves only after a sync that began after the line was written', async () => {
  await using dir = await tempDir()
  const journal = new Journal(dir.file('j'))
  const syncs: { sizeAtStart: number; end: () => void }[] = []
  replaceFs('fdatasync', () => (_: number, done: (error: null) => void) => {
    syncs.push({ sizeAtStart: journal.size, end: () => done(null) })
  })
  const resolved: number[] = []
  const durable = (n: number) => {
    journal.append({ n })
    const size = journal.size
    return journal
      .durable()
      .then(() => resolved.push(n), undefined)
      .then(() => size)
  }
  const first = durable(1)
  const others = [durable(2), durable(3)]
  expect(syncs).toHaveLength(1)
  await Promise.resolve()
  expect(resolved).toEqual([])
  syncs[0]?.end()
  await first
  await vi.waitFor(() => expect(syncs).toHaveLength(2))
  expect(resolved).toEqual([1])
  expect(syncs[1]?.sizeAtStart).toBe(journal.size)
  syncs[1]?.end()
  await Promise.all(others)
  expect(resolved).toEqual([1, 2, 3])
  expect(syncs).toHaveLength(2)
  journal.close()
})

test('after a failed sync nothing is durable until every line was written again', async () => {
  await using dir = await tempDir()
  const journal = new Journal(dir.file('j'))
  let syncs = 0
  replaceFs('fdatasync', () => (_: number, done: (error: Error | null) => void) => {
    syncs += 1
    setImmediate(() => done(syncs === 1 ? new Error('EIO: i/o error, fdatasync') : null))
  })
  journal.append({ n: 1 })
  const waiting = [journal.durable(), journal.durable()]
  for (const each of waiting) await expect(each).rejects.toThrow()
  await expect(journal.durable()).rejects.toThrow()
  expect(syncs).toBe(1)
  expect(journal.mustRewrite).toBe(true)
  journal.rewrite([{ n: 1 }])
  journal.append({ n: 2 })
  await journal.durable()
  expect(numbers(journal)).toEqual([1, 2])
  journal.close()
})

test('a rewritten journal is on disk before it replaces the old one', async () => {
  await using dir = await tempDir()
  const journal = new Journal(dir.file('j'))
  journal.append({ n: 1 })
  const order: string[] = []
  replaceFs('fsyncSync', (real) => (fd: number) => {
    order.push(
      statSync(dir.file('j')).size === 0
        ? 'empty'
        : JSON.stringify(readFileSync(dir.file('j'), 'utf8').includes('"n":2')),
    )
    ;(real as (fd: number) => void)(fd)
  })
  journal.rewrite([{ n: 2 }])
  // The new file, before the rename; then its folder, after it.
  expect(order).toEqual(['false', 'true'])
  journal.close()
})
