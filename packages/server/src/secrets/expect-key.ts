import { ParleyError } from '@parley/protocol'
import { existsSync } from 'node:fs'
import { rename, rm } from 'node:fs/promises'
import { dirname } from 'node:path'
import { syncFolders } from '../lib/index.ts'
import type { SealTest, SealTestStore } from '../storage/index.ts'
import { openCipher, SEALED_ANYWHERE, SEALED_PREFIX, sealedWith, type Cipher, type CipherOptions } from './cipher.ts'
import { nextKeyFile } from './key-file.ts'
import { makeSalt } from './passphrase.ts'

const TEST_TEXT = 'parley'

export type StoreCipherOptions = Omit<CipherOptions, 'mayCreate' | 'salt'> & {
  /** Accepts another key than the one of the store. Values of the earlier key can then not be read. */
  replaces: boolean
}

/**
 * Opens the cipher of a store. The store keeps a sealed test value, so that a missing or another key is noticed before
 * anything is sealed with it. A store without one, of version 0.1.0, is tested with the values that it contains.
 * @throws ParleyError `unavailable` when the key is missing or another one
 */
export async function openStoreCipher(
  store: SealTestStore,
  { replaces, ...options }: StoreCipherOptions,
): Promise<Cipher> {
  const test = await store.get()
  const sealed = test === null ? (await store.samples(SEALED_PREFIX)).flatMap(sealedIn) : [test.sealed]
  const salt = test?.salt ?? makeSalt()
  const isMade = options.keyText === undefined && !existsSync(options.keyFile)
  const cipher = await openCipher({ ...options, salt, mayCreate: replaces || sealed.length === 0 })
  const isExpected = sealed.length === 0 || sealed.some((text) => opens(cipher, text))
  if (!isExpected && !replaces) throw otherKey(cipher.keyId, sealed[0]!)
  if (test === null) return addTest(store, cipher, salt, { replaces, ...options }, isMade)
  const isCurrent = test.salt === salt && sealedWith(test.sealed) === cipher.keyId
  if (!isCurrent) await store.put(sealTest(cipher, salt))
  return cipher
}

/**
 * Stores the first test value. If another server on the same database has stored one meanwhile, its key is that of the store, and so is
 * its salt.
 */
async function addTest(
  store: SealTestStore,
  cipher: Cipher,
  salt: string,
  options: StoreCipherOptions,
  isMade: boolean,
): Promise<Cipher> {
  const stored = await store.add(sealTest(cipher, salt))
  if (stored.salt === salt && sealedWith(stored.sealed) === cipher.keyId) return cipher
  // A new key that has sealed nothing would hide that the key of the store is missing here.
  if (isMade && !opens(cipher, stored.sealed)) await rm(options.keyFile, { force: true })
  return openStoreCipher(store, options)
}

/** The test value of a store whose values are sealed with this cipher. */
export const sealTest = (cipher: Pick<Cipher, 'seal'>, salt: string): SealTest => ({
  sealed: cipher.seal(TEST_TEXT),
  salt,
})

/**
 * The file with the key of the store: the key file, or the one beside it that was to replace it. A replacement that was cut off has
 * left both.
 */
export async function keyFileOf(keyFile: string, store: Pick<SealTestStore, 'get'>): Promise<string> {
  const next = nextKeyFile(keyFile)
  const test = existsSync(next) ? await store.get() : null
  if (test === null) return keyFile
  const { keyId } = await openCipher({ keyFile: next, mayCreate: false, salt: '' })
  return sealedWith(test.sealed) === keyId ? next : keyFile
}

/** Completes a replacement of the key file that was cut off after the store was sealed with the new key, or discards the new key. */
export async function settleKeyFile(keyFile: string, store: Pick<SealTestStore, 'get'>): Promise<void> {
  const next = nextKeyFile(keyFile)
  if (!existsSync(next)) return
  if ((await keyFileOf(keyFile, store)) === next) await rename(next, keyFile)
  else await rm(next)
  await syncFolders(dirname(keyFile))
}

const sealedIn = (text: string): string[] => [...text.matchAll(SEALED_ANYWHERE)].map(([found]) => found)

function opens(cipher: Cipher, sealed: string): boolean {
  try {
    cipher.open(sealed)
    return true
  } catch {
    // Damaged, or of another key: another sample decides.
    return false
  }
}

const otherKey = (keyId: string, sealed: string): ParleyError =>
  new ParleyError(
    'unavailable',
    `the secret key (${keyId}) is not the one of the store (${sealed.split(':')[1]}): start with the key that the store was used with ` +
      '(PARLEY_SECRET_KEY, or the file secret-key of this data directory from a backup). If that key is lost, start once with ' +
      'PARLEY_REPLACE_SECRET_KEY=true: values sealed with it cannot be read any more',
    { details: { key_id: keyId } },
  )
