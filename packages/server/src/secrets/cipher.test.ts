import fc from 'fast-check'
import { createDecipheriv, createHash, hkdfSync } from 'node:crypto'
import { readdir, readFile, stat, writeFile } from 'node:fs/promises'
import { expect, test } from 'vitest'
import { tempDir } from '../../testing/temp.ts'
import { isSealed, openCipher } from './cipher.ts'

const cipherOf = (keyText: string) => openCipher({ keyText, keyFile: '/nowhere', salt: '' })

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

/** Sealed by version 0.1.0 with the configured key `a key`. */
const STORED = 'v1:ed8e5708:RnVImvoKNTc8EEAbN-G-Fg5RZKOBNR1sr4bppIQ7NP5fQtMhaiYeshODmVA'

test('a text that version 0.1.0 sealed can be opened', async () => {
  expect((await cipherOf('a key')).open(STORED)).toBe('kept since 0.1.0')
})

test('a text that a person has chosen is stretched with the salt, and its hash, with which version 0.1.0 sealed, seals nothing', async () => {
  const salted = (salt: string) => openCipher({ keyText: 'a key', keyFile: '/nowhere', salt })
  const [one, other] = [await salted('one'), await salted('other')]
  expect([one.open(STORED), other.open(STORED)]).toEqual(['kept since 0.1.0', 'kept since 0.1.0'])
  expect(new Set([one.keyId, other.keyId, STORED.split(':')[1]]).size).toBe(3)
  expect(one.seal('x')).toContain(`v1:${one.keyId}:`)
  expect(() => other.open(one.seal('x'))).toThrow('another key')
})

/** 32 random bytes. */
const RANDOM_TEXT = 'q83vEjRWeJCrze8SNFZ4kKvN7xI0VniQq83vEjRWeJA'
test('a text of random bytes gives the key that it gave in version 0.1.0, whatever the salt', async () => {
  const random = (salt: string) => openCipher({ keyText: RANDOM_TEXT, keyFile: '/nowhere', salt })
  const [one, other] = [await random('one'), await random('other')]
  const secret = createHash('sha256').update(RANDOM_TEXT).digest()
  const keyId = Buffer.from(hkdfSync('sha256', secret, '', 'parley key id', 4)).toString('hex')
  expect([one.keyId, other.keyId]).toEqual([keyId, keyId])
  expect(other.open(one.seal('x'))).toBe('x')
})

test('the version and the key id are bound into the cipher text', async () => {
  const [, keyId, body] = STORED.split(':')
  const data = Buffer.from(body!, 'base64url')
  const secret = createHash('sha256').update('a key').digest()
  const key = Buffer.from(hkdfSync('sha256', secret, '', 'parley sealed text v1', 32))
  const openWith = (header: string) => {
    const decipher = createDecipheriv('aes-256-gcm', key, data.subarray(0, 12), { authTagLength: 16 })
    decipher.setAAD(Buffer.from(header)).setAuthTag(data.subarray(-16))
    return Buffer.concat([decipher.update(data.subarray(12, -16)), decipher.final()]).toString()
  }
  expect(openWith(`v1:${keyId}`)).toBe('kept since 0.1.0')
  for (const header of [`v2:${keyId}`, 'v1:00000000', `v1`, keyId!, ''])
    expect(() => openWith(header)).toThrow('authenticate')
  const sealed = (await cipherOf('a key')).seal('x')
  expect((await cipherOf('a key')).open(sealed)).toBe('x')
})

test('a sealed text of another version, with characters after it, or cut off, is refused', async () => {
  const cipher = await cipherOf('a key')
  const [, keyId, body] = STORED.split(':')
  expect(isSealed(`v2:${keyId}:${body}`)).toBe(false)
  for (const text of [`v2:${keyId}:${body}`, `${STORED}!`, `x${STORED}`])
    expect(() => cipher.open(text)).toThrow('not a sealed text of a known version')
  expect(() => cipher.open(`v1:${keyId}:${body!.slice(0, 27)}`)).toThrow('cut off')
  expect(() => cipher.open(`v1:${keyId}:${body!.slice(0, 27)}`)).toThrow(
    expect.objectContaining({ details: { key_id: cipher.keyId } }),
  )
})

test('a blank configured key is refused', async () => {
  await expect(cipherOf('  ')).rejects.toMatchObject({ code: 'unavailable' })
})

test('a key file is created once with mode 0600, and opens texts that were sealed before', async () => {
  await using dir = await tempDir()
  const keyFile = dir.file('data', 'secret.key')
  const sealed = (await openCipher({ keyFile, salt: '' })).seal('kept')
  expect((await stat(keyFile)).mode & 0o777).toBe(0o600)
  expect((await stat(dir.file('data'))).mode & 0o777).toBe(0o700)
  expect(await readdir(dir.file('data'))).toEqual(['secret.key'])
  expect((await openCipher({ keyFile, salt: '' })).open(sealed)).toBe('kept')
})

test('concurrent first starts get the same key', async () => {
  await using dir = await tempDir()
  const ciphers = await Promise.all(
    Array.from({ length: 16 }, () => openCipher({ keyFile: dir.file('secret.key'), salt: '' })),
  )
  expect(new Set(ciphers.map(({ keyId }) => keyId)).size).toBe(1)
  expect(await readdir(dir.path)).toEqual(['secret.key'])
})

test('a key file that cannot be read is refused with the remedy', async () => {
  await using dir = await tempDir()
  await expect(openCipher({ keyFile: dir.path, salt: '' })).rejects.toThrow('cannot be read: check its owner and mode')
})

test('a damaged key file is refused and not changed', async () => {
  await using dir = await tempDir()
  const keyFile = dir.file('secret.key')
  await writeFile(keyFile, 'half a k')
  await expect(openCipher({ keyFile, salt: '' })).rejects.toMatchObject({ code: 'unavailable' })
  expect(await readFile(keyFile, 'utf8')).toBe('half a k')
})
