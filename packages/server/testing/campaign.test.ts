import { expect, test } from 'vitest'
import { forSeeds } from './campaign.ts'

test('a campaign without time left plays its least number of seeds, each once', async () => {
  const played: number[] = []
  expect(await forSeeds({ seconds: 0, least: 5, atOnce: 2 }, (seed) => void played.push(seed))).toBe(5)
  expect(played.toSorted((a, b) => a - b)).toEqual([1, 2, 3, 4, 5])
})

test('a campaign ends with its budget, not with a number of seeds', async () => {
  let calls = 0
  const from = performance.now()
  const played = await forSeeds({ seconds: 0.05 }, async () => {
    calls += 1
    await new Promise((resolve) => setTimeout(resolve, 1))
  })
  expect(performance.now() - from).toBeGreaterThanOrEqual(50)
  expect(played).toBe(calls)
  expect(played).toBeGreaterThan(1)
})

test('a campaign that counts ends when it is enough, whatever its budget', async () => {
  let calls = 0
  expect(await forSeeds({ seconds: 0, isEnough: () => calls >= 3 }, () => void (calls += 1))).toBe(3)
})

test('a failing seed is named, and no seed begins after it', async () => {
  const played: number[] = []
  const campaign = forSeeds({ seconds: 60, least: 10 }, (seed) => {
    played.push(seed)
    if (seed === 3) throw new Error('the law does not hold')
  })
  await expect(campaign).rejects.toThrow('seed 3: the law does not hold')
  expect(played).toEqual([1, 2, 3])
})
