import { describe, expect, it } from 'vitest'
import { BodyLoader, runOf } from './bodies.ts'
import { delayOf } from './delay.ts'

describe('loading', () => {
  it('waits between attempts double from 50 ms to 5 s and differ', () => {
    expect([delayOf(0, 1), delayOf(1, 1), delayOf(30, 1), delayOf(0, 0)]).toEqual([50, 100, 5000, 25])
  })

  it('a run has the first wanted event and its neighbours', () => {
    expect(runOf([500, 501, 502, 900, 480])).toEqual([480, 502])
    expect(runOf([])).toBeNull()
    expect(runOf([7])).toEqual([7, 7])
    expect(runOf([150, 60, 300])).toEqual([60, 150])
  })

  it('an event is requested once, and again only after a failure that is retried', async () => {
    const loaded = new Set<number>()
    const asked: string[] = []
    let fails = true
    const loader = new BodyLoader(
      async (first, last) => {
        asked.push(`${first}-${last}`)
        await Promise.resolve()
        if (fails) throw new Error('no answer')
        for (let seq = first; seq <= last; seq++) loaded.add(seq)
      },
      (seq) => loaded.has(seq),
    )
    loader.want([3, 4, 5])
    loader.want([3, 4, 5])
    await expect.poll(() => loader.failureOf(4)).toBe('no answer')
    fails = false
    loader.want([3, 4, 5])
    loader.retry(3)
    await expect.poll(() => loaded.size).toBe(3)
    expect(asked).toEqual(['3-5', '3-5'])
  })
})
