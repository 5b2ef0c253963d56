import { existsSync } from 'node:fs'
import { expect, test } from 'vitest'
import { testDatabase } from '../../testing/postgres.ts'
import { tempDir } from '../../testing/temp.ts'
import { openStore, type SealTestStore } from '../storage/index.ts'
import { openStoreCipher } from './expect-key.ts'

/** Two servers that start on an empty database at the same moment: each finds no test value before either stores one. */
async function openTwo() {
  await using stack = new AsyncDisposableStack()
  const dir = stack.use(await tempDir())
  const database = stack.use(await testDatabase())
  const stores = stack.use(new AsyncDisposableStack())
  const both = Promise.withResolvers<void>()
  let read = 0
  const start = async (name: string, keyText?: string) => {
    const { sealTest: store } = stores.use(await openStore({ path: '', databaseUrl: database.url }))
    const together: SealTestStore = {
      ...store,
      samples: async (prefix) => {
        const samples = await store.samples(prefix)
        if ((read += 1) === 2) both.resolve()
        await both.promise
        return samples
      },
    }
    const key = keyText === undefined ? {} : { keyText }
    return openStoreCipher(together, { ...key, keyFile: dir.file(`${name}-key`), replaces: false })
  }
  const owned = stack.move()
  return { dir, start, [Symbol.asyncDispose]: () => owned.disposeAsync() }
}

test('of two servers that make a key for an empty database at once, one starts, and the other says that the key is missing', async () => {
  await using at = await openTwo()
  const names = ['first', 'second']
  const starts = await Promise.allSettled(names.map((name) => at.start(name)))
  const [lost] = starts.flatMap((each) => (each.status === 'rejected' ? [each.reason as Error] : []))
  const won = starts.findIndex(({ status }) => status === 'fulfilled')
  expect(starts.map(({ status }) => status).toSorted()).toEqual(['fulfilled', 'rejected'])
  expect(lost!.message).toMatch(/key file .* is missing.*set PARLEY_SECRET_KEY to the key of the store/)
  // No key is left that has sealed nothing: the next start says the same.
  expect(names.map((name) => existsSync(at.dir.file(`${name}-key`)))).toEqual([won === 0, won === 1])
  await expect(at.start(names[1 - won]!)).rejects.toThrow(/is missing/)
  await at.start(names[won]!)
})

test('two servers that start at once on an empty database with one passphrase seal with one key', async () => {
  await using at = await openTwo()
  const [first, second] = await Promise.all([at.start('first', 'a passphrase'), at.start('second', 'a passphrase')])
  expect(second.open(first.seal('text'))).toBe('text')
  expect(first.open(second.seal('text'))).toBe('text')
})
