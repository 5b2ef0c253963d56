/** Encryption of stored secrets: AES-256-GCM, a random nonce per text, and a key id that distinguishes a wrong key from damage. */
import { ParleyError } from '@parley/protocol'
import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from 'node:crypto'
import { readOrMakeKeyFile } from './key-file.ts'
import { digested, isRandomText, stretched } from './passphrase.ts'
import { tokensOf, type UserTokens } from './tokens.ts'

/** Sealed text is `v1:<key id>:<nonce, cipher text and tag in base64url>`. */
const VERSION = 'v1'
const NONCE_BYTES = 12
const TAG_BYTES = 16
/** Beginning of every sealed text. */
export const SEALED_PREFIX = `${VERSION}:`
/** Finds sealed texts in any text. */
export const SEALED_ANYWHERE = /v1:[0-9a-f]{8}:[A-Za-z0-9_-]{38,}/g
const SEALED = /^v1:([0-9a-f]{8}):([A-Za-z0-9_-]+)$/

export interface Cipher {
  /** Id of the key that seals, which reveals nothing about it. */
  readonly keyId: string
  /** Tokens for values that this user receives encrypted and sends back. Source: agent-server-wire.md 8.1, 8.2. */
  tokensOf(user: string): UserTokens
  /** A key of 32 bytes for a use that is no sealing, which its name in ASCII identifies. */
  keyFor(use: string): Uint8Array
  seal(text: string): string
  /** @throws ParleyError `unavailable` when the key is another one or the text was changed. */
  open(sealed: string): string
  /** The reference to the model key of the server for that key, and any other text unchanged. See `server-credential.ts`. */
  referenced(text: string): string
}

export type CipherOptions = {
  /** The configured secret key, any text. Without it the key is read from `keyFile`, which is created when missing. */
  keyText?: string
  keyFile: string
  /** False: a missing key file is refused. Default true. */
  mayCreate?: boolean
  /** Salt of the store, for a configured text that is not random. */
  salt: string
}

/** True for a text in the format of `seal`. */
export const isSealed = (text: string): boolean => SEALED.test(text)

/** The id of the key that sealed a text; null for any other text. */
export const sealedWith = (text: string): string | null => SEALED.exec(text)?.[1] ?? null

/**
 * Opens the cipher of a data directory.
 * @throws ParleyError `unavailable` when the configured key is blank or the key file cannot be used.
 */
export async function openCipher({ keyText, keyFile, mayCreate = true, salt }: CipherOptions): Promise<Cipher> {
  if (keyText === undefined)
    return makeCipher(digested(await readOrMakeKeyFile(keyFile, mayCreate)), `the key file ${keyFile}`)
  const origin = 'the configured secret key'
  if (keyText.trim() === '') throw new ParleyError('unavailable', `${origin} is blank: give it a text, or leave it out`)
  if (isRandomText(keyText)) return makeCipher(digested(keyText), origin)
  return makeCipher(await stretched(keyText, salt), origin, digested(keyText))
}

/**
 * @param origin source of the key, for messages
 * @param former the secret that the same text gave in version 0.1.0, which opens texts and seals none
 */
export function makeCipher(secret: Uint8Array, origin: string, former?: Uint8Array): Cipher {
  const own = sealingKey(secret)
  const keys = [own, ...(former === undefined ? [] : [sealingKey(former)])]

  const cannotOpen = (why: string, cause?: unknown) =>
    new ParleyError(
      'unavailable',
      `a stored secret cannot be opened with ${origin}: ${why}. ` +
        'Start with the secret key it was sealed with (PARLEY_SECRET_KEY, or the key file of this data directory from a backup), ' +
        'or store the secret again.',
      { details: { key_id: own.keyId }, cause },
    )

  return {
    keyId: own.keyId,
    tokensOf: (user) => tokensOf(user, (use) => derived(secret, use, 32)),
    keyFor: (use) => derived(secret, use, 32),
    referenced: (text) => text,
    seal: own.seal,
    open: (sealed) => {
      const keyId = sealedWith(sealed)
      if (keyId === null) throw cannotOpen('it is not a sealed text of a known version')
      const key = keys.find((one) => one.keyId === keyId)
      if (key === undefined) throw cannotOpen(`it was sealed with another key (${keyId}, this one is ${own.keyId})`)
      const body = Buffer.from(sealed.slice(sealed.lastIndexOf(':') + 1), 'base64url')
      if (body.length < NONCE_BYTES + TAG_BYTES) throw cannotOpen('it is cut off')
      try {
        return key.open(body)
      } catch (error) {
        throw cannotOpen('it was changed after it was sealed', error)
      }
    },
  }
}

/** A key of its own for each use of the secret. */
const derived = (secret: Uint8Array, use: string, bytes: number): Buffer =>
  Buffer.from(hkdfSync('sha256', secret, '', `parley ${use}`, bytes))

function sealingKey(secret: Uint8Array) {
  const key = derived(secret, 'sealed text v1', 32)
  const keyId = derived(secret, 'key id', 4).toString('hex')
  const header = Buffer.from(`${VERSION}:${keyId}`)
  return {
    keyId,
    seal: (text: string): string => {
      const nonce = randomBytes(NONCE_BYTES)
      const cipher = createCipheriv('aes-256-gcm', key, nonce).setAAD(header)
      const body = Buffer.concat([nonce, cipher.update(text, 'utf8'), cipher.final(), cipher.getAuthTag()])
      return `${VERSION}:${keyId}:${body.toString('base64url')}`
    },
    /** @throws when the bytes were changed or cut off. */
    open: (body: Buffer): string => {
      const decipher = createDecipheriv('aes-256-gcm', key, body.subarray(0, NONCE_BYTES), { authTagLength: TAG_BYTES })
      decipher.setAAD(header).setAuthTag(body.subarray(-TAG_BYTES))
      return Buffer.concat([decipher.update(body.subarray(NONCE_BYTES, -TAG_BYTES)), decipher.final()]).toString('utf8')
    },
  }
}
