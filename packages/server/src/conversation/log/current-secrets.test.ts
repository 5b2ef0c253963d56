import { ParleyError } from '@parley/protocol'
import { expect, test } from 'vitest'
import { countingStorage, storeCalls } from '../../../testing/counting-storage.ts'
import { openLog, said } from '../../../testing/log-bench.ts'
import { tempDir } from '../../../testing/temp.ts'
import { openCipher } from '../../secrets/index.ts'
import { openCommandSecrets, openMasking, openNamedSecrets, openUserSettings } from '../../settings/index.ts'
import { openSqlite, type Storage } from '../../storage/index.ts'

/** A log that masks as a server does, and the secrets of the same store as another process changes them. */
async function openMasked() {
  await using stack = new AsyncDisposableStack()
  const path = stack.use(await tempDir()).file('parley.db')
  const cipher = await openCipher({ keyText: 'bench', keyFile: '', salt: '' })
  const calls = storeCalls()
  const partsOf = (storage: Storage) => {
    const secrets = openNamedSecrets(storage.secrets, cipher)
    const settings = openUserSettings(storage.settings, secrets, cipher, async () => null)
    return { secrets, settings }
  }
  const at = stack.use(
    await openLog(path, (storage) => {
      const parts = partsOf(countingStorage(storage, calls))
      const commandSecrets = openCommandSecrets({ ...parts, cipher, own: [], log: { warn: () => undefined } })
      return openMasking(commandSecrets, { valuesOf: () => [] })
    }),
  )
  const beside = stack.use(await openSqlite({ path }))
  const texts = async () => (await at.stored()).map(({ event }) => JSON.stringify(event)).join('\n')
  const open = stack.move()
  return { ...at, calls, elsewhere: partsOf(beside), texts, [Symbol.asyncDispose]: () => open.disposeAsync() }
}

test('a secret that another process creates or changes is masked in the next commit, its former value too', async () => {
  await using at = await openMasked()
  await at.log.append([said('before any secret')])
  await at.elsewhere.secrets.create('ada', { name: 'TOKEN', value: 'first-value-of-it', description: null })
  await at.log.append([said('it is first-value-of-it')])
  await at.elsewhere.secrets.put('ada', { name: 'TOKEN', value: 'second-value-of-it' })
  await at.log.append([said('it is second-value-of-it, and was first-value-of-it')])
  const texts = await at.texts()
  expect(texts).toContain('before any secret')
  expect(texts).not.toContain('first-value-of-it')
  expect(texts).not.toContain('second-value-of-it')
  expect(texts.split('\n')).toHaveLength(3)
})

test('a commit with unchanged secrets reads none, and one after a change reads them once', async () => {
  await using at = await openMasked()
  await at.elsewhere.secrets.create('ada', { name: 'TOKEN', value: 'first-value-of-it', description: null })
  await at.log.append([said('reads them')])
  at.calls.reset()
  for (let n = 0; n < 5; n++) await at.log.append([said(`reads nothing ${n}`)])
  expect([...at.calls.of]).toEqual([])
  await at.elsewhere.secrets.put('ada', { name: 'TOKEN', value: 'second-value-of-it' })
  await at.log.append([said('reads them again: second-value-of-it')])
  expect(at.calls.of.get('secrets.list')).toBe(1)
  expect(await at.texts()).not.toContain('second-value-of-it')
})

test('an append whose secrets change again and again is given up, and stores nothing', async () => {
  await using at = await openMasked()
  let times = 0
  at.faults.before = async () => {
    times += 1
    await at.elsewhere.secrets.put('ada', { name: 'TOKEN', value: `value-number-${times}` })
  }
  await expect(at.log.append([said('never stored')])).rejects.toThrow(ParleyError)
  expect(times).toBeGreaterThan(2)
  expect(times).toBeLessThan(20)
  expect(await at.stored()).toEqual([])
  at.faults.before = async () => undefined
  await at.log.append([said('stored')])
  expect(await at.stored()).toHaveLength(1)
})
