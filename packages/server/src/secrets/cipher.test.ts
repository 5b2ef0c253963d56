import fc from 'fast-check'
import { readdir, readFile, stat, writeFile } from 'node:fs/promises'
import { expect, test } from 'vitest'
import { tempDir } from '../../testing/temp.ts'
import { isSealed, openCipher } from './cipher.ts'

const cipherOf = (keyText: string) => openCipher({ keyText, keyFile: '/nowhere' })

test('a sealed text can be opened, and two seals of one text differ', async () => {
  const cipher = await cipherOf('a key')
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), (text) => {
      const sealed = cipher.seal(text)
      expect(isSealed(sealed)).toBe(true)
      expect(sealed).not.toBe(cipher.seal(text))
      expect(cipher.open(sealed)).toBe(text.toWellFormed())
    }),
  )
})

test('a sealed text with one changed character is refused', async () => {
  const cipher = await cipherOf('a key')
  const sealed = cipher.seal('the secret')
  fc.assert(
    fc.property(fc.nat(sealed.length - 2), (at) => {
      const other = sealed[at] === 'A' ? 'B' : 'A'
      expect(() => cipher.open(sealed.slice(0, at) + other + sealed.slice(at + 1))).toThrow(/cannot be opened/)
    }),
  )
})

test('opening with another key is refused with both key ids and advice, and without a secret', async () => {
  const [writer, reader] = [await cipherOf('first key'), await cipherOf('second key')]
  const open = () => reader.open(writer.seal('hunter2-value'))
  expect(open).toThrow(expect.objectContaining({ name: 'ParleyError', code: 'unavailable' }))
  expect(open).toThrow(new RegExp(`${writer.keyId}.*${reader.keyId}.*PARLEY_SECRET_KEY`))
  expect(open).not.toThrow(/hunter2|first key|second key/)
})

test('a blank configured key is refused', async () => {
  await expect(cipherOf('  ')).rejects.toMatchObject({ code: 'unavailable' })
})

test('a key file is created once with mode 0600, and opens texts that were sealed before', async () => {
  await using dir = await tempDir()
  const keyFile = dir.file('data', 'secret.key')
  const sealed = (await openCipher({ keyFile })).seal('kept')
  expect((await stat(keyFile)).mode & 0o777).toBe(0o600)
  expect((await stat(dir.file('data'))).mode & 0o777).toBe(0o700)
  expect(await readdir(dir.file('data'))).toEqual(['secret.key'])
  expect((await openCipher({ keyFile })).open(sealed)).toBe('kept')
})

test('concurrent first starts get the same key', async () => {
  await using dir = await tempDir()
  const ciphers = await Promise.all(Array.from({ length: 16 }, () => openCipher({ keyFile: dir.file('secret.key') })))
  expect(new Set(ciphers.map(({ keyId }) => keyId)).size).toBe(1)
  expect(await readdir(dir.path)).toEqual(['secret.key'])
})

test('a damaged key file is refused and not changed', async () => {
  await using dir = await tempDir()
  const keyFile = dir.file('secret.key')
  await writeFile(keyFile, 'half a k')
  await expect(openCipher({ keyFile })).rejects.toMatchObject({ code: 'unavailable' })
  expect(await readFile(keyFile, 'utf8')).toBe('half a k')
})
