import fc from 'fast-check'
import fs, { readdirSync, statSync } from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'
import { expect, test, vi } from 'vitest'
import { tempDir } from '../../../../testing/temp.ts'
import { BoundedOutput, contentText, discardSealed, readSealed } from './bounded-output.ts'

test('bounded output keeps the head and the tail of what was written, and counts the bytes between', async () => {
  await using dir = await tempDir()
  const sizes = fc.array(fc.nat({ max: 12_000 }), { maxLength: 8 })
  fc.assert(
    fc.property(sizes, fc.integer({ min: 2, max: 20_000 }), (lengths, maxBytes) => {
      const output = new BoundedOutput(dir.path, maxBytes)
      const all = Buffer.alloc(lengths.reduce((sum, length) => sum + length, 0))
      for (let i = 0; i < all.length; i++) all[i] = (i * 31) & 0x7f
      let from = 0
      for (const length of lengths) output.append(all.subarray(from, (from += length)))
      const sealed = output.seal()
      const { head, tail, dropped } = readSealed(dir.path, sealed)
      discardSealed(dir.path, sealed)
      expect(head.length + tail.length + dropped).toBe(all.length)
      expect(head.length + tail.length).toBeLessThanOrEqual(Math.max(2, maxBytes))
      expect(head.equals(all.subarray(0, head.length))).toBe(true)
      expect(tail.equals(all.subarray(all.length - tail.length))).toBe(true)
      if (all.length <= maxBytes - 1) expect(dropped).toBe(0)
    }),
    { numRuns: 200 },
  )
  expect(readdirSync(dir.path)).toEqual([])
})

test('bounded output stays in memory while it is short, and its file has a bounded size', async () => {
  await using dir = await tempDir()
  const output = new BoundedOutput(dir.path, 100_000)
  output.append(Buffer.alloc(5_000))
  expect(readdirSync(dir.path)).toEqual([])
  for (let i = 0; i < 300; i++) output.append(Buffer.alloc(5_000))
  const [name] = readdirSync(dir.path)
  expect(statSync(dir.file(name ?? '')).size).toBeLessThanOrEqual(100_000)
  output.discard()
  expect(readdirSync(dir.path)).toEqual([])
})

test('an output whose file was removed counts as dropped', async () => {
  await using dir = await tempDir()
  const output = new BoundedOutput(dir.path, 20_000)
  output.append(Buffer.alloc(30_000))
  const sealed = output.seal()
  discardSealed(dir.path, sealed)
  const nothing = Buffer.alloc(0)
  expect(readSealed(dir.path, sealed)).toEqual({ head: nothing, tail: nothing, dropped: 30_000 })
})

test('a character that is split between the head and the tail is left out of both', () => {
  const euro = Buffer.from('€€€')
  expect(contentText({ head: euro.subarray(0, 5), tail: euro.subarray(4), dropped: 1 })).toEqual({
    head: '€',
    tail: '€',
  })
  expect(contentText({ head: euro.subarray(0, 6), tail: euro.subarray(6), dropped: 1 })).toEqual({
    head: '€€',
    tail: '€',
  })
  expect(contentText({ head: euro.subarray(0, 4), tail: euro.subarray(4), dropped: 0 })).toEqual({
    head: '€€€',
    tail: '',
  })
})

test.each([0, 6_000, 9_000, 30_000])(
  'output that a full disk refuses after %i bytes is counted, and its beginning is kept',
  async (kept) => {
    await using dir = await tempDir()
    const output = new BoundedOutput(dir.path, 20_000)
    output.append(Buffer.alloc(kept, 'a'))
    const spy = vi.spyOn(fs, 'writeSync').mockImplementation(() => {
      throw Object.assign(new Error('ENOSPC: no space left on device, write'), { code: 'ENOSPC' })
    })
    syncBuiltinESMExports()
    output.append(Buffer.alloc(50_000, 'b'))
    spy.mockRestore()
    syncBuiltinESMExports()
    output.append(Buffer.alloc(10, 'c'))
    const sealed = output.seal()
    const { head, tail, dropped } = readSealed(dir.path, sealed)
    expect(head.length + tail.length + dropped).toBe(kept + 50_010)
    expect(Buffer.concat([head, tail]).every((byte) => byte === 97)).toBe(true)
    expect(head.length + tail.length).toBe(Math.min(kept, 20_000))
    discardSealed(dir.path, sealed)
    expect(readdirSync(dir.path)).toEqual([])
  },
)
